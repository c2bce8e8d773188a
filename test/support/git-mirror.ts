import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import type { GitUpstream } from './git-upstream.ts'
import { execFileSync } from './programs.ts'

/** Makes a server of Git accept pushes. */
export function acceptPushes(to: GitUpstream): void {
  to.intercept = (request, response) => {
    if (!isPush(request)) return false
    void receive(to, request).then((answer) => sendAnswer(request, response, answer))
    return true
  }
}

/** Returns whether a request belongs to a push. */
export function isPush({ url = '' }: IncomingMessage): boolean {
  return url.endsWith('git-receive-pack')
}

/** Lets Git do what a request of a push asks, and returns its answer (gitprotocol-http(5)). */
export async function receive(to: GitUpstream, request: IncomingMessage): Promise<Buffer> {
  const sent = await buffer(request)
  const input = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
  const flags = request.method === 'GET' ? ['--http-backend-info-refs'] : []
  const folder = to.git('rev-parse', '--absolute-git-dir')
  return execFileSync('git', ['receive-pack', '--stateless-rpc', ...flags, folder], { input })
}

/** Sends what Git has answered. */
export function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Buffer,
): void {
  const isAdvertisement = request.method === 'GET'
  const type = isAdvertisement ? 'advertisement' : 'result'
  response.writeHead(200, { 'content-type': `application/x-git-receive-pack-${type}` })
  if (isAdvertisement) response.write('001f# service=git-receive-pack\n0000')
  response.end(answer)
}
