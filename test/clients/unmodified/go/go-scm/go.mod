module branchline.example/go-scm

go 1.23

require (
	branchline.example/calls v0.0.0
	github.com/drone/go-scm v1.38.4
)

replace branchline.example/calls => ../calls
