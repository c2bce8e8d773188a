// Package calls makes the calls of a client and prints what happened, for `npm run clients`.
package calls

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// Setting is the server, and tokens with all scopes, by username.
type Setting struct {
	URL      string            `json:"url"`
	Tokens   map[string]string `json:"tokens"`
	Password string            `json:"password"`
}

// ReadSetting reads the variable that `npm run clients` sets.
func ReadSetting() Setting {
	var setting Setting
	if err := json.Unmarshal([]byte(os.Getenv("BRANCHLINE_CLIENT")), &setting); err != nil {
		panic(err)
	}
	return setting
}

// Call makes one call and prints what was expected and what happened as a line of JSON. A failed call
// does not end the program. The name is unique in the program.
func Call(name string, expected any, work func() (any, error)) {
	happened, err := run(work)
	if err != nil {
		happened = "fails: " + err.Error()
	}
	wanted, got := normal(expected), normal(happened)
	line, _ := json.Marshal(map[string]any{
		"name": name, "expected": wanted, "happened": got, "passed": reflect.DeepEqual(wanted, got),
	})
	fmt.Println(string(line))
}

func run(work func() (any, error)) (value any, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("panic: %v", thrown)
		}
	}()
	return work()
}

// normal returns a value as JSON has it.
func normal(value any) any {
	text, _ := json.Marshal(value)
	var result any
	_ = json.Unmarshal(text, &result)
	return result
}

// Ask prepares something over REST, and ends the program where that fails.
func (s Setting) Ask(username, method, path string, body any) map[string]any {
	var value map[string]any
	_ = json.Unmarshal(s.send(username, method, path, body), &value)
	return value
}

// List returns a list that REST has.
func (s Setting) List(username, path string) []any {
	var values []any
	_ = json.Unmarshal(s.send(username, "GET", path, nil), &values)
	return values
}

func (s Setting) send(username, method, path string, body any) []byte {
	text, _ := json.Marshal(body)
	request, _ := http.NewRequest(method, s.URL+"/api/v1"+path, bytes.NewReader(text))
	request.Header.Set("Authorization", "token "+s.Tokens[username])
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	if response.StatusCode >= 300 {
		panic(fmt.Sprintf("%s %s: %s", method, path, answer))
	}
	return answer
}

var hidden = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`)

// SignIn signs a user in on the pages of the server, allows what the client at `address` asks for, and
// returns the address that the server sends the browser to.
func (s Setting) SignIn(username, address string) (*url.URL, error) {
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{
		Jar: jar,
		CheckRedirect: func(request *http.Request, _ []*http.Request) error {
			if strings.HasPrefix(request.URL.String(), s.URL) {
				return nil
			}
			return http.ErrUseLastResponse
		},
	}
	response, err := browser.Get(address)
	for range 4 {
		if err != nil {
			return nil, err
		}
		if location, err := response.Location(); err == nil {
			return location, nil
		}
		text, _ := io.ReadAll(response.Body)
		form := formOf(string(text))
		if form == nil {
			return nil, fmt.Errorf("no form: %s", text)
		}
		if form.Get("action") == "sign-in" {
			form.Set("username", username)
			form.Set("password", s.Password)
		}
		target := response.Request.URL.String()
		request, _ := http.NewRequest("POST", target, strings.NewReader(form.Encode()))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", s.URL)
		response, err = browser.Do(request)
	}
	return nil, fmt.Errorf("no redirect to the client")
}

// formOf returns the hidden fields of the form that signs in or allows.
func formOf(page string) url.Values {
	for _, form := range strings.Split(page, "<form") {
		for _, action := range []string{"sign-in", "allow"} {
			if !strings.Contains(form, fmt.Sprintf(`name="action" value="%s"`, action)) {
				continue
			}
			values := url.Values{"action": {action}}
			for _, field := range hidden.FindAllStringSubmatch(form, -1) {
				values.Set(field[1], field[2])
			}
			return values
		}
	}
	return nil
}

// Receiver gets webhooks.
type Receiver struct {
	URL      string
	arrivals chan *http.Request
}

// StartReceiver listens on a free port until the program ends.
func StartReceiver() *Receiver {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	receiver := &Receiver{
		URL:      "http://" + listener.Addr().String() + "/hook",
		arrivals: make(chan *http.Request, 100),
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		receiver.arrivals <- r
		w.WriteHeader(http.StatusNoContent)
	}))
	return receiver
}

// Next returns the first webhook of an event that has not been taken.
func (r *Receiver) Next(event string) (*http.Request, error) {
	deadline := time.After(20 * time.Second)
	for {
		select {
		case request := <-r.arrivals:
			if request.Header.Get("X-Gitea-Event") == event {
				return request, nil
			}
		case <-deadline:
			return nil, fmt.Errorf("no webhook of the event %s", event)
		}
	}
}
