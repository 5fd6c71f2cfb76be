"""Makes a wheel of an unpacked Debian package of a Python distribution, and prints
its pin for requirements.txt. Nothing of the package is executed.

    wheel.py UNPACKED WHEELHOUSE
"""
import base64
import hashlib
import pathlib
import re
import sys
import zipfile

unpacked, wheelhouse = map(pathlib.Path, sys.argv[1:])
site = unpacked / "usr/lib/python3/dist-packages"
(info,) = [p for p in site.iterdir() if p.suffix in (".egg-info", ".dist-info")]
meta = info if info.is_file() else info / ("PKG-INFO" if info.suffix == ".egg-info" else "METADATA")
text = meta.read_text()
name, version = (re.search(rf"^{key}: (\S+)", text, re.M)[1] for key in ("Name", "Version"))
stem = f"{re.sub('[-_.]+', '_', name)}-{version}"
native = any(site.rglob("*.so"))
tag = "cp311-cp311-linux_x86_64" if native else "py3-none-any"
files = {
    str(p.relative_to(site)): p.read_bytes()
    for p in sorted(site.rglob("*"))
    if p.is_file() and info not in (p, *p.parents) and "__pycache__" not in p.parts
}
files[f"{stem}.dist-info/METADATA"] = text.encode()
files[f"{stem}.dist-info/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: corpus\nRoot-Is-Purelib: {str(not native).lower()}\nTag: {tag}\n".encode()
entry = info / "entry_points.txt"
if info.is_dir() and entry.exists():
    files[f"{stem}.dist-info/entry_points.txt"] = entry.read_bytes()
record = "".join(
    f"{n},sha256={base64.urlsafe_b64encode(hashlib.sha256(d).digest()).rstrip(b'=').decode()},{len(d)}\n" for n, d in files.items()
)
files[f"{stem}.dist-info/RECORD"] = (record + f"{stem}.dist-info/RECORD,,\n").encode()
wheelhouse.mkdir(exist_ok=True)
with zipfile.ZipFile(wheelhouse / f"{stem}-{tag}.whl", "w") as out:
    for n, d in files.items():
        out.writestr(n, d)
print(f"{name}=={version}")
