module example.test/wordcount

go 1.26
