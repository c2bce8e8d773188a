import { spawn } from 'node:child_process'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * The baseline of Git over HTTP: `git http-backend` behind a minimal CGI server
 * (git-http-backend(1), RFC 3875), without callers, limits and rows.
 *
 * Argument: the folder with the bare repositories.
 */
const [root = ''] = process.argv.slice(2)

function answer(request: IncomingMessage, response: ServerResponse): void {
  const [path = '', query = ''] = (request.url ?? '').split('?')
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      // Without a user, git http-backend refuses pushes.
      REMOTE_USER: 'somebody',
      REQUEST_METHOD: request.method,
      PATH_INFO: path,
      QUERY_STRING: query,
      CONTENT_TYPE: request.headers['content-type'],
      CONTENT_LENGTH: request.headers['content-length'],
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'],
      GIT_PROTOCOL: request.headers['git-protocol'] as string | undefined,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  request.pipe(child.stdin)
  child.stdin.on('error', () => {})
  let head = Buffer.alloc(0)
  const readHead = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    child.stdout.off('data', readHead)
    const lines = head.subarray(0, end).toString().split('\r\n')
    const headers = lines.map((line) => line.split(': ', 2) as [string, string])
    const status = headers.find(([name]) => name === 'Status')?.[1]
    response.writeHead(
      Number(status?.slice(0, 3) ?? 200),
      headers.filter(([name]) => name !== 'Status').flat(),
    )
    response.write(head.subarray(end + 4))
    child.stdout.pipe(response)
  }
  child.stdout.on('data', readHead)
}

const server = http.createServer(answer)
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
