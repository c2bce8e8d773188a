import type { DescMessage, DescMethod, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { hasOwnJson, isObject, memberOf } from './draft.ts'
import { accessOf, bindingsOf, type RestBinding } from './method-facts.ts'

/** Ways to repeat a call, by the names that users know. */
export const EXAMPLE_LANGUAGES = {
  curl: 'curl (REST)',
  curlConnect: 'curl (Connect)',
  buf: 'buf curl',
  typescript: 'TypeScript (connect-web)',
  python: 'Python (requests)',
  go: 'Go (connect-go)',
} as const

export type ExampleLanguage = keyof typeof EXAMPLE_LANGUAGES

/** Returns the text to copy; undefined if the language cannot make the call. */
export function exampleText(language: ExampleLanguage, example: Example): string | undefined {
  const { methodKind } = example.method
  const sendsStream = methodKind === 'client_streaming' || methodKind === 'bidi_streaming'
  if (sendsStream && language !== 'buf') return undefined
  switch (language) {
    case 'curl':
      return restCommand(example)
    case 'curlConnect':
      return methodKind === 'unary' ? connectCommand(example) : undefined
    case 'buf':
      return bufCommand(example)
    case 'typescript':
      return typescriptProgram(example)
    case 'python':
      return pythonProgram(example)
    case 'go':
      return goProgram(example)
  }
}

function restCommand({ method, json, origin, credentials }: Example): string | undefined {
  const [binding] = bindingsOf(method)
  if (!binding) return undefined
  const { verb, path, content, isFile } = restRequestOf(method.input, binding, json)
  const data = isFile
    ? ["--data-binary '@FILE'"]
    : content !== undefined
      ? ["-H 'content-type: application/json'", `-d ${quoted(JSON.stringify(content))}`]
      : []
  return lines([
    `curl ${method.methodKind === 'server_streaming' ? '-N ' : ''}-X ${verb} ${quoted(origin + path)}`,
    ...credentialsOf(credentials),
    ...data,
  ])
}

function connectCommand({ method, json, origin, credentials }: Example): string {
  return lines([
    `curl ${quoted(rpcUrl(origin, method))}`,
    ...credentialsOf(credentials),
    "-H 'content-type: application/json'",
    `-d ${quoted(JSON.stringify(json))}`,
  ])
}

function bufCommand({ method, json, origin, credentials }: Example): string {
  // The schema comes by reflection, which is a gRPC stream and needs HTTP/2. Without TLS nothing
  // negotiates the version.
  const http2 = origin.startsWith('http:') ? ['--http2-prior-knowledge'] : []
  return lines([
    `buf curl ${quoted(rpcUrl(origin, method))}`,
    ...http2,
    ...credentialsOf(credentials, 'buf'),
    `-d ${quoted(JSON.stringify(json))}`,
  ])
}

function credentialsOf(credentials: Example['credentials'], program = 'curl'): string[] {
  if (credentials === 'none') return []
  if (credentials === 'token') return ['-H "Authorization: Bearer $TOKEN"']
  return program === 'curl' ? ['-u "$USERNAME"'] : ['--user "$USERNAME:$PASSWORD"']
}

function lines(parts: readonly string[]): string {
  return parts.join(' \\\n  ')
}

/** Returns a word of a shell that stands for a text, whatever is in the text. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Returns a program with the stubs that protoc-gen-es generates. */
function typescriptProgram({ method, json, origin, credentials }: Example): string {
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
function pythonProgram({ method, json, origin, credentials }: Example): string | undefined {
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
function goProgram({ method, json, origin, credentials }: Example): string {
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

/** A call, as commands and programs repeat it. They read the token from the environment. */
interface Example {
  readonly method: DescMethod
  readonly json: JsonObject
  /** The address of the server. */
  readonly origin: string
  readonly credentials: 'token' | 'password' | 'none'
}

/**
 * Returns the example of a call. Texts that look like secrets are replaced, since copied commands
 * stay in the histories of shells and in chats.
 */
export function exampleOf(
  method: DescMethod,
  json: JsonObject,
  caller: { readonly origin: string; readonly isSignedIn: boolean },
): Example {
  const { needsPassword, needsUser, ignoresCredentials } = accessOf(method)
  const hasToken = !ignoresCredentials && (caller.isSignedIn || needsUser)
  const credentials = needsPassword ? 'password' : hasToken ? 'token' : 'none'
  const safe = withoutSecrets(json)
  return { method, json: isObject(safe) ? safe : {}, origin: caller.origin, credentials }
}

/** Fields with secrets, in the spelling of JSON. The token of a page is none. */
const SECRET = /password|passcode|secret|recoveryCode|authorizationHeader|(?<!page)token$/i

function withoutSecrets(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(withoutSecrets)
  if (!isObject(json)) return json
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [
      name,
      typeof value === 'string' && SECRET.test(name) ? 'SECRET' : withoutSecrets(value),
    ]),
  )
}

/** Whether a field of a form hides what is typed. */
export function isSecret(jsonName: string): boolean {
  return SECRET.test(jsonName)
}

/** Returns the address of a method over Connect, gRPC and gRPC-Web. */
function rpcUrl(origin: string, { parent, name }: DescMethod): string {
  return `${origin}/${parent.typeName}/${name}`
}

/** A request over REST. */
interface RestRequest {
  readonly verb: string
  /** With the query. */
  readonly path: string
  /** JSON; undefined for none. */
  readonly content: JsonValue | undefined
  /** Whether the content is the bytes of a file. */
  readonly isFile: boolean
}

/** A variable of a path, and the form of its value: `{name=users/*}`, `{path=**}`, `{owner}`. */
const VARIABLE = /\{([\w.]+)(?:=([^}]*))?\}/g

/** Returns the request over REST that says the same as a message. */
function restRequestOf(
  message: DescMessage,
  { verb, template, body }: RestBinding,
  json: JsonObject,
): RestRequest {
  const inPath = new Set<string>()
  const path = template.replace(VARIABLE, (_, name: string, form = '') => {
    inPath.add(name)
    const value = valueAt(message, json, name.split('.'))
    const text = value === undefined ? name.toUpperCase() : textOf(value)
    const segments = form.includes('/') || form.includes('**') ? text.split('/') : [text]
    return segments.map(encodeURIComponent).join('/')
  })
  const rest = without(message, json, '', inPath)
  const field = message.fields.find(({ name }) => name === body)
  const isFile = (field?.message ?? message).typeName === 'google.api.HttpBody' && body !== ''
  const content = body === '*' ? rest : field && (rest[field.jsonName] ?? {})
  const query =
    body === '*'
      ? []
      : queryOf(message, field ? without(message, rest, '', new Set([body])) : rest, '')
  const search = new URLSearchParams(query.map(([name, value]) => [name, value])).toString()
  return { verb, path: search === '' ? path : `${path}?${search}`, content, isFile }
}

function valueAt(
  message: DescMessage,
  json: JsonValue | undefined,
  [name = '', ...rest]: readonly string[],
): JsonValue | undefined {
  const field = message.fields.find((candidate) => candidate.name === name)
  const value = field && memberOf(json, field)
  if (rest.length === 0 || !field?.message) return value
  return valueAt(field.message, value, rest)
}

/** Returns JSON without the fields that another part of the request has. */
function without(
  message: DescMessage,
  json: JsonObject,
  prefix: string,
  covered: ReadonlySet<string>,
): JsonObject {
  const kept: Record<string, JsonValue> = {}
  for (const field of message.fields) {
    const value = memberOf(json, field)
    const path = prefix + field.name
    if (value === undefined || covered.has(path)) continue
    const isNested = field.fieldKind === 'message' && isObject(value) && !hasOwnJson(field.message)
    kept[field.jsonName] = isNested ? without(field.message, value, `${path}.`, covered) : value
  }
  return kept
}

function queryOf(message: DescMessage, json: JsonObject, prefix: string): [string, string][] {
  return message.fields.flatMap((field): [string, string][] => {
    const value = memberOf(json, field)
    const name = prefix + field.name
    if (value === undefined || field.fieldKind === 'map') return []
    if (Array.isArray(value)) return value.map((item) => [name, textOf(item)])
    if (field.fieldKind === 'message' && isObject(value))
      return queryOf(field.message, value, `${name}.`)
    return [[name, textOf(value)]]
  })
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
