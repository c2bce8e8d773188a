module branchline.example/woodpecker

go 1.23

require (
	branchline.example/calls v0.0.0
	go.woodpecker-ci.org/woodpecker v1.0.5
)

require (
	code.gitea.io/sdk/gitea v0.18.0 // indirect
	github.com/davidmz/go-pageant v1.0.2 // indirect
	github.com/go-ap/httpsig v0.0.0-20221203064646-3647b4d88fdf // indirect
	github.com/go-fed/httpsig v1.1.0 // indirect
	github.com/golang/protobuf v1.5.3 // indirect
	github.com/hashicorp/go-version v1.6.0 // indirect
	github.com/lafriks/ttlcache/v3 v3.2.0 // indirect
	github.com/mattn/go-colorable v0.1.12 // indirect
	github.com/mattn/go-isatty v0.0.19 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/robfig/cron v1.2.0 // indirect
	github.com/rs/zerolog v1.29.1 // indirect
	golang.org/x/crypto v0.22.0 // indirect
	golang.org/x/net v0.21.0 // indirect
	golang.org/x/oauth2 v0.11.0 // indirect
	golang.org/x/sync v0.3.0 // indirect
	golang.org/x/sys v0.19.0 // indirect
	google.golang.org/appengine v1.6.7 // indirect
	google.golang.org/protobuf v1.31.0 // indirect
)

replace (
	branchline.example/calls => ../calls
	// The proxies have Woodpecker by the name of its repository only.
	go.woodpecker-ci.org/woodpecker => github.com/woodpecker-ci/woodpecker v1.0.5
)
