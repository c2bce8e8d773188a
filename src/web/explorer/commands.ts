import { type Example, rpcUrl } from './example.ts'
import { bindingsOf } from './method-facts.ts'
import { restRequestOf } from './rest-request.ts'

export function restCommand({ method, json, origin, credentials }: Example): string | undefined {
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

export function connectCommand({ method, json, origin, credentials }: Example): string {
  return lines([
    `curl ${quoted(rpcUrl(origin, method))}`,
    ...credentialsOf(credentials),
    "-H 'content-type: application/json'",
    `-d ${quoted(JSON.stringify(json))}`,
  ])
}

export function bufCommand({ method, json, origin, credentials }: Example): string {
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
