import type { DescMessage, JsonValue } from '@bufbuild/protobuf'
import { type Example, rpcUrl } from './example.ts'
import { bindingsOf } from './method-facts.ts'
import { restRequestOf } from './rest-request.ts'

/** Returns a program with the stubs that protoc-gen-es generates. */
export function typescriptProgram({ method, json, origin, credentials }: Example): string {
  const { input, parent, methodKind } = method
  const service = { name: parent.name, from: stubsOf(parent.file.name) }
  const schema = { name: `${generatedName(input)}Schema`, from: stubsOf(input.file.name) }
  const imports =
    service.from === schema.from
      ? [`import { ${schema.name}, ${service.name} } from '${service.from}'`]
      : [service, schema].map(({ name, from }) => `import { ${name} } from '${from}'`)
  const header = {
    token: "'Bearer ' + process.env.TOKEN",
    password: "'Basic ' + btoa(process.env.USERNAME + ':' + process.env.PASSWORD)",
    none: '',
  }[credentials]
  const options = header === '' ? '' : `, {\n  headers: { authorization: ${header} },\n}`
  const call = `client.${method.localName}(request${options})`
  return `import { fromJson } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'
${imports.join('\n')}

const transport = createConnectTransport({ baseUrl: '${origin}' })
const client = createClient(${parent.name}, transport)
const request = fromJson(${schema.name}, ${JSON.stringify(json, undefined, 2)})
${
  methodKind === 'server_streaming'
    ? `for await (const message of ${call}) console.log(message)`
    : `console.log(await ${call})`
}
`
}

/** Returns the module of the generated code of a file. */
function stubsOf(fileName: string): string {
  const isKnown = fileName.startsWith('google/protobuf/')
  return isKnown ? '@bufbuild/protobuf/wkt' : `./gen/${fileName}_pb`
}

/** Returns a program for any HTTP library: Connect for one message, REST for a stream. */
export function pythonProgram({ method, json, origin, credentials }: Example): string | undefined {
  const isStream = method.methodKind === 'server_streaming'
  const [binding] = bindingsOf(method)
  if (isStream && !binding) return undefined
  const call = isStream && binding ? restRequestOf(method.input, binding, json) : undefined
  const secret = {
    token: ['headers={"Authorization": f"Bearer {os.environ[\'TOKEN\']}"},'],
    password: ['auth=(os.environ["USERNAME"], os.environ["PASSWORD"]),'],
    none: [],
  }[credentials]
  const content = call ? call.content : json
  const argumentLines = [
    `"${call?.verb ?? 'POST'}",`,
    `${JSON.stringify(call ? origin + call.path : rpcUrl(origin, method))},`,
    ...secret,
    ...(content === undefined ? [] : [`json=${pythonLiteral(content)},`]),
    ...(isStream ? ['stream=True,'] : []),
  ]
  const result = isStream
    ? 'for part in response.iter_content(None):\n    print(part)'
    : 'print(response.json())'
  return `${credentials === 'none' ? '' : 'import os\n\n'}import requests

response = requests.request(
${argumentLines.map((line) => `    ${line}`).join('\n')}
)
response.raise_for_status()
${result}
`
}

function pythonLiteral(json: JsonValue): string {
  if (json === null) return 'None'
  if (typeof json === 'boolean') return json ? 'True' : 'False'
  if (typeof json !== 'object') return JSON.stringify(json)
  if (Array.isArray(json)) return `[${json.map(pythonLiteral).join(', ')}]`
  const members = Object.entries(json).map(
    ([name, value]) => `${JSON.stringify(name)}: ${pythonLiteral(value)}`,
  )
  return `{${members.join(', ')}}`
}

/** Returns a program with the stubs that protoc-gen-go and protoc-gen-connect-go generate. */
export function goProgram({ method, json, origin, credentials }: Example): string {
  const { input, parent } = method
  const [request, service] = [goPackage(input), goPackage(parent)]
  const isStream = method.methodKind === 'server_streaming'
  const usesEnvironment = credentials !== 'none'
  const authorization = {
    token: '"Bearer "+os.Getenv("TOKEN")',
    password:
      '"Basic "+base64.StdEncoding.EncodeToString([]byte(os.Getenv("USERNAME")+":"+os.Getenv("PASSWORD")))',
    none: '',
  }[credentials]
  const standard = [
    'context',
    ...(credentials === 'password' ? ['encoding/base64'] : []),
    'fmt',
    'log',
    'net/http',
    ...(usesEnvironment ? ['os'] : []),
  ]
  return `package main

import (
${standard.map((name) => `\t"${name}"`).join('\n')}

\t"connectrpc.com/connect"
\t"google.golang.org/protobuf/encoding/protojson"

\t${request.alias} "${request.path}"
\t"${service.path}/${service.alias}connect"
)

func main() {
\trequest := &${request.alias}.${generatedName(input)}{}
\tif err := protojson.Unmarshal([]byte(${goText(JSON.stringify(json))}), request); err != nil {
\t\tlog.Fatal(err)
\t}
\tclient := ${service.alias}connect.New${parent.name}Client(http.DefaultClient, "${origin}")
\tcall := connect.NewRequest(request)
${usesEnvironment ? `\tcall.Header().Set("Authorization", ${authorization})\n` : ''}${isStream ? goStream(method.name) : goUnary(method.name)}}
`
}

function goUnary(name: string): string {
  return `\tresponse, err := client.${name}(context.Background(), call)
\tif err != nil {
\t\tlog.Fatal(err)
\t}
\tfmt.Println(response.Msg)
`
}

function goStream(name: string): string {
  return `\tstream, err := client.${name}(context.Background(), call)
\tif err != nil {
\t\tlog.Fatal(err)
\t}
\tfor stream.Receive() {
\t\tfmt.Println(stream.Msg())
\t}
\tif err := stream.Err(); err != nil {
\t\tlog.Fatal(err)
\t}
`
}

/** Reads the option `go_package`: a path, and after a semicolon the name of the package. */
function goPackage({ file }: Pick<DescMessage, 'file'>): { path: string; alias: string } {
  const [path = '', alias = path.slice(path.lastIndexOf('/') + 1)] = (
    file.proto.options?.goPackage ?? ''
  ).split(';')
  return { path, alias }
}

/** A raw string where the text permits one, since it is easier to read. */
function goText(text: string): string {
  return text.includes('`') ? JSON.stringify(text) : `\`${text}\``
}

/** Returns the name of a type in generated code, which joins the names of the types around it. */
function generatedName({ typeName, file }: DescMessage): string {
  const { package: name } = file.proto
  return typeName.slice(name === '' ? 0 : name.length + 1).replaceAll('.', '_')
}
