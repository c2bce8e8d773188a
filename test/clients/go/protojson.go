// Parses the responses of a server as protojson does by default: unknown members are errors.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

func get(url string) []byte {
	response, err := http.Get(url)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	return body
}

func main() {
	server := os.Args[1]
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(get(server+"/schema/branchline.binpb"), &set); err != nil {
		log.Fatal(err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		log.Fatal(err)
	}
	descriptor, err := files.FindDescriptorByName("branchline.v1.User")
	if err != nil {
		log.Fatal(err)
	}
	user := dynamicpb.NewMessage(descriptor.(protoreflect.MessageDescriptor))
	if err := protojson.Unmarshal(get(server+"/api/v1/users/ada"), user); err != nil {
		log.Fatal(err)
	}
	fields := user.Descriptor().Fields()
	fmt.Println(user.Get(fields.ByName("username")), user.Get(fields.ByName("login")), user.Get(fields.ByName("html_url")))
	printed, err := protojson.Marshal(user)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(printed))
}
