// A trivial server of connect-go, for comparison: GetUser with a fixed account, without a database.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"connectrpc.com/connect"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The size of a user message.
const size = 90

func main() {
	// The request and the wrapper have a string with the number 1, so that no code is generated.
	answer := wrapperspb.String(string(make([]byte, size)))
	getUser := func(context.Context, *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error) {
		return connect.NewResponse(answer), nil
	}
	const path = "/branchline.v1.UserService/GetUser"
	mux := http.NewServeMux()
	mux.Handle(path, connect.NewUnaryHandler(path, getUser))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	panic(http.Serve(listener, h2c.NewHandler(mux, &http2.Server{})))
}
