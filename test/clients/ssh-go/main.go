// An SSH client of golang.org/x/crypto that Git starts as ssh(1): -i KEY [-k EXCHANGE] [-p PORT] USER@HOST COMMAND.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
)

func main() {
	key := flag.String("i", "", "private key")
	exchange := flag.String("k", "", "the only key exchange that the client offers")
	port := flag.String("p", "22", "port")
	flag.String("o", "", "options of ssh, without effect")
	flag.Parse()
	code, err := run(*key, *exchange, *port, flag.Arg(0), strings.Join(flag.Args()[1:], " "))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 255
	}
	os.Exit(code)
}

func run(key, exchange, port, target, command string) (int, error) {
	content, err := os.ReadFile(key)
	if err != nil {
		return 0, err
	}
	signer, err := ssh.ParsePrivateKey(content)
	if err != nil {
		return 0, err
	}
	user, host, _ := strings.Cut(target, "@")
	config := &ssh.ClientConfig{
		User: user,
		Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		// The server of a test has a new key each time.
		HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	}
	if exchange != "" {
		config.KeyExchanges = []string{exchange}
	}
	client, err := ssh.Dial("tcp", net.JoinHostPort(host, port), config)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		return 0, err
	}
	if protocol := os.Getenv("GIT_PROTOCOL"); protocol != "" {
		if err := session.Setenv("GIT_PROTOCOL", protocol); err != nil {
			return 0, err
		}
	}
	session.Stdin, session.Stdout, session.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = session.Run(command)
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return exit.ExitStatus(), nil
	}
	return 0, err
}
