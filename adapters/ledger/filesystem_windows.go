package ledger

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// filesystemOf refuses UNC paths and mapped network drives.
func filesystemOf(dir string) (filesystem, error) {
	volume := filepath.VolumeName(dir)
	root, err := windows.UTF16PtrFromString(volume + `\`)
	if err != nil {
		return filesystem{}, err
	}
	if windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return filesystem{Name: "a network drive", Network: true}, nil
	}
	return filesystem{Name: "local"}, nil
}

// freeBytes is what this user may still write below dir.
func freeBytes(dir string) (uint64, error) {
	p, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(p, &free, nil, nil)
	return free, err
}

func noSpace(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
