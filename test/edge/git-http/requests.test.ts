import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFilledRepository, git } from '../../platform/git/fixture.ts'
import { ADA, ENGINE, type GitServerOptions, startGitServer } from './fixture.ts'

const ADVERTISEMENT = '/ada/engine.git/info/refs?service=git-upload-pack'
const FETCH = '/ada/engine.git/git-upload-pack'
const PUSH = '/ada/engine.git/git-receive-pack'
const FETCH_TYPE = { 'content-type': 'application/x-git-upload-pack-request' }
const PUSH_TYPE = { 'content-type': 'application/x-git-receive-pack-request' }

async function filledServer(options: GitServerOptions = {}) {
  const server = await startGitServer(options)
  const commit = await createFilledRepository(server.repositories, ENGINE)
  return { ...server, commit }
}

interface Answer {
  readonly status: number | undefined
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

/** One request over HTTP/1.1, whose body is sent as it is. */
async function ask(
  url: string,
  {
    method = 'POST',
    headers = {},
    body = '',
  }: { method?: string; headers?: object; body?: string | Buffer } = {},
): Promise<Answer> {
  const request = http.request(url, {
    method,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
  })
  // The server may have refused before it has everything.
  request.on('error', () => {})
  request.end(body)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}

const pktLine = (line: string) => `${(line.length + 4).toString(16).padStart(4, '0')}${line}`

/** Asks for one commit and everything before it, in version 0 of the protocol. */
const wanting = (commit: string) => `${pktLine(`want ${commit}\n`)}0000${pktLine('done\n')}`

describe('an advertisement', () => {
  it.each([ADVERTISEMENT, ADVERTISEMENT.replace('upload', 'receive')])(
    'has no refs of the server’s own: %s',
    async (path) => {
      const { url, repositories, commit } = await filledServer()
      git(repositories, ENGINE, 'update-ref', 'refs/branchline/kept', commit)
      const answer = await ask(`${url}${path}`, { method: 'GET' })
      expect(answer.body).toContain('refs/heads/')
      expect(answer.body).not.toContain('branchline')
    },
  )

  it('begins with the service, and is not cached', async () => {
    const { url, commit } = await filledServer()
    const answer = await ask(`${url}${ADVERTISEMENT}`, { method: 'GET' })
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({
      'content-type': 'application/x-git-upload-pack-advertisement',
      'cache-control': 'no-cache, max-age=0, must-revalidate',
      pragma: 'no-cache',
      expires: 'Fri, 01 Jan 1980 00:00:00 GMT',
    })
    expect(answer.body).toMatch(
      new RegExp(`^001e# service=git-upload-pack\\n0000[0-9a-f]{4}${commit} HEAD\\0`),
    )
  })

  it.each([
    ['version=2', 'version 2'],
    ['version=1', 'version 1'],
    ['object-format=sha1:version=2', 'version 2'],
  ])('has the protocol version of Git-Protocol: %s', async (protocol, expected) => {
    const { url } = await filledServer()
    const answer = await ask(`${url}${ADVERTISEMENT}`, {
      method: 'GET',
      headers: { 'git-protocol': protocol },
    })
    expect(answer.body).toContain(expected)
  })

  it.each(['version=2;id', '$(id)', 'version==2', `version=2:${'x=y:'.repeat(50)}`])(
    'does not pass the header %j to Git',
    async (protocol) => {
      const { url } = await filledServer({ program: 'echo "protocol <$GIT_PROTOCOL>"' })
      const answer = await ask(`${url}${ADVERTISEMENT}`, {
        method: 'GET',
        headers: { 'git-protocol': protocol },
      })
      expect(answer.body).toContain('protocol <>')
    },
  )

  it('reports that the repository cannot be read', async () => {
    const { url } = await filledServer({ program: 'exit 1' })
    expect(await ask(`${url}${ADVERTISEMENT}`, { method: 'GET' })).toMatchObject({ status: 500 })
  })

  it('reports a missing repository if it is deleted during the request', async () => {
    const { url } = await startGitServer()
    const answer = await ask(`${url}${ADVERTISEMENT}`, { method: 'GET' })
    expect(answer).toMatchObject({ status: 404, body: 'Repository not found\n' })
  })
})

describe('a request', () => {
  it('has the same response over HTTP/1.1 and HTTP/2', async () => {
    const { url, commit } = await filledServer()
    const answer = await ask(`${url}${FETCH}`, { headers: FETCH_TYPE, body: wanting(commit) })
    expect(answer).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/x-git-upload-pack-result' },
    })
    expect(answer.body).toMatch(/^0008NAK\nPACK/)

    const session = http2.connect(url)
    onTestFinished(() => session.destroy())
    const stream = session.request({ ':method': 'POST', ':path': FETCH, ...FETCH_TYPE })
    stream.end(wanting(commit))
    const [headers] = await once(stream, 'response')
    expect(headers).toMatchObject({
      ':status': 200,
      'content-type': 'application/x-git-upload-pack-result',
    })
    expect(await text(stream)).toBe(answer.body)
  })

  it('may be compressed', async () => {
    const { url, commit } = await filledServer()
    const body = gzipSync(wanting(commit))
    const answer = await ask(`${url}${FETCH}`, {
      headers: { ...FETCH_TYPE, 'content-encoding': 'gzip' },
      body,
    })
    expect(answer.body).toContain('PACK')
  })

  it('may be an empty probe, whose response is empty', async () => {
    const { url } = await filledServer()
    const answer = await ask(`${url}${PUSH}`, { headers: PUSH_TYPE, body: '0000' })
    expect(answer).toMatchObject({ status: 200, body: '' })
    expect(answer.headers['content-type']).toBe('application/x-git-receive-pack-result')
  })

  it('may wait for 100 Continue', async () => {
    const { url, commit } = await filledServer()
    const headers = { ...FETCH_TYPE, expect: '100-continue', 'transfer-encoding': 'chunked' }
    const request = http.request(`${url}${FETCH}`, { method: 'POST', headers })
    request.flushHeaders()
    await once(request, 'continue')
    request.end(wanting(commit))
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    expect(await text(response)).toContain('PACK')
  })

  const compressed = { ...FETCH_TYPE, 'content-encoding': 'gzip' }
  const small = { maxFetchRequestBytes: 1000 }
  it.each<
    [string, number, Parameters<typeof ask>[1] & { path?: string }, GitServerOptions['limits']?]
  >([
    ['without a service', 400, { path: '/ada/engine.git/info/refs', method: 'GET' }],
    ['of another content type', 400, { headers: PUSH_TYPE, body: '0000' }],
    ['without a content type', 400, { body: '0000' }],
    ['by a method that is none for it', 405, { method: 'GET', headers: FETCH_TYPE }],
    ['for an advertisement by POST', 405, { path: ADVERTISEMENT, headers: FETCH_TYPE }],
    [
      'for a repository that is not there',
      404,
      { path: '/ada/other.git/git-upload-pack', headers: FETCH_TYPE },
    ],
    [
      'in a coding that nobody knows',
      415,
      { headers: { ...FETCH_TYPE, 'content-encoding': 'br' }, body: '0000' },
    ],
    ['that is no gzip', 400, { headers: compressed, body: '0000' }],
    [
      'whose gzip breaks off',
      400,
      { headers: compressed, body: gzipSync('0'.repeat(500)).subarray(0, 15) },
    ],
    ['that is no Git', 400, { headers: FETCH_TYPE, body: 'nonsense' }],
    ['that is too large', 413, { headers: FETCH_TYPE, body: '0'.repeat(1001) }, small],
    [
      'that grows too large',
      413,
      { headers: compressed, body: gzipSync('0'.repeat(1_000_000)) },
      small,
    ],
    ['that finds no place', 503, { headers: FETCH_TYPE, body: '0000' }, { maxSessions: 0 }],
  ])('%s is refused with %i', async (_, status, { path = FETCH, ...request }, limits = {}) => {
    const { url } = await filledServer({ limits })
    const answer = await ask(`${url}${path}`, request)
    expect(answer).toMatchObject({
      status,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    })
    expect(answer.body).toMatch(/^.+\n$/)
  })

  it('is refused over HTTP/2 before its end', async () => {
    const { url } = await filledServer({ limits: small })
    const session = http2.connect(url)
    onTestFinished(() => session.destroy())
    const stream = session.request({ ':method': 'POST', ':path': FETCH, ...FETCH_TYPE })
    stream.write('0'.repeat(2000))
    const [headers] = await once(stream, 'response')
    expect(headers[':status']).toBe(413)
    await once(stream.resume(), 'close')
  })

  it('gets a slot even if another peer holds its maximum', async () => {
    const { url, firstStart } = await filledServer({ limits: { maxSessions: 2 } })
    const silent = http.request(`${url}${FETCH}`, { method: 'POST', headers: FETCH_TYPE })
    silent.on('error', () => {})
    onTestFinished(() => void silent.destroy())
    silent.write('0')
    await firstStart
    const fetching = { headers: FETCH_TYPE, body: '0000' }
    expect((await ask(`${url}${FETCH}`, fetching)).status).toBe(503)
    const anonymous = { ...fetching, headers: { ...FETCH_TYPE, 'x-anonymous': 'yes' } }
    expect((await ask(`${url}${FETCH}`, anonymous)).status).toBe(200)
  })

  it('that anonymous callers may not send requires credentials', async () => {
    const { url } = await filledServer({
      authorize: async () => ({ outcome: 'refused', status: 401, message: 'sign in first' }),
    })
    expect(await ask(`${url}${ADVERTISEMENT}`, { method: 'GET' })).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Basic realm="Branchline"' },
      body: 'sign in first\n',
    })
  })
})

describe('the observer', () => {
  it('is called when a request ends, with the account that was granted access', async () => {
    const { url, commit, ended } = await filledServer()
    await ask(`${url}${ADVERTISEMENT}`, { method: 'GET' })
    await ask(`${url}${FETCH}`, { headers: FETCH_TYPE, body: wanting(commit) })
    await ask(`${url}/ada/other.git/info/refs?service=git-receive-pack`, { method: 'GET' })
    await ask(`${url}/ada/engine.git/info/refs?service=git-none`, { method: 'GET' })
    await expect.poll(() => ended.length).toBe(4)
    expect(
      ended.map(({ route, user, status, isComplete }) => [route.kind, user, status, isComplete]),
    ).toEqual([
      ['advertisement', ADA, 200, true],
      ['request', ADA, 200, true],
      ['advertisement', undefined, 404, true],
      ['unknown service', undefined, 400, true],
    ])
  })

  it('is called when the client disconnects before the end', async () => {
    const { url, ended, firstStart } = await startGitServer({ program: 'sleep 60' })
    const request = http.request(`${url}${FETCH}`, { method: 'POST', headers: FETCH_TYPE })
    request.on('error', () => {})
    request.flushHeaders()
    await firstStart
    request.destroy()
    await expect.poll(() => ended.map(({ isComplete }) => isComplete)).toEqual([false])
  })
})

describe('a process', () => {
  it.each([
    ['is idle', { idleTimeoutMs: 50 }, 'sleep 1000'],
    ['takes longer than anything may', { totalTimeoutMs: 50, idleTimeoutMs: 60_000 }, 'sleep 1000'],
  ])('that %s is ended, and the client receives the reason', async (_, limits, program) => {
    const { url, started } = await filledServer({ limits, program })
    expect(await ask(`${url}${FETCH}`, { headers: FETCH_TYPE, body: '0000' })).toMatchObject({
      status: 504,
    })
    await started[0]?.exited
  })

  it('that is ended during its response leaves an incomplete response', async () => {
    const { url } = await filledServer({
      // Longer than a busy machine takes to start the process.
      limits: { idleTimeoutMs: 3_000 },
      program: 'echo begun; sleep 1000',
    })
    await expect(ask(`${url}${FETCH}`, { headers: FETCH_TYPE, body: '0000' })).rejects.toThrow(
      'aborted',
    )
  })

  it.each(['HTTP/1.1', 'HTTP/2'])(
    'ends when its client disconnects before the end, over %s',
    async (version) => {
      const { url, started } = await filledServer({ program: 'echo begun; sleep 1000' })
      if (version === 'HTTP/2') {
        const session = http2.connect(url)
        const stream = session.request({ ':method': 'POST', ':path': FETCH, ...FETCH_TYPE })
        stream.on('error', () => {})
        stream.end('0000')
        await once(stream, 'data')
        session.destroy()
      } else {
        const request = http.request(`${url}${FETCH}`, { method: 'POST', headers: FETCH_TYPE })
        request.on('error', () => {})
        request.end('0000')
        const [response] = (await once(request, 'response')) as [http.IncomingMessage]
        response.on('error', () => {})
        request.destroy()
      }
      expect(await started[0]?.exited).toMatchObject({ code: null })
    },
  )

  it.each([
    ['the refs', 'GET', ADVERTISEMENT],
    ['a fetch', 'POST', FETCH],
  ])('logs no error if its client disconnects early: %s', async (_, method, path) => {
    const { url, firstStart, errors, ended } = await filledServer({ program: 'sleep 1000' })
    const request = http.request(`${url}${path}`, {
      method,
      ...(method === 'POST' && { headers: FETCH_TYPE }),
    })
    request.on('error', () => {})
    request.end(method === 'POST' ? '0000' : '')
    const started = await firstStart
    request.destroy()
    await started.exited
    await expect.poll(() => ended.length).toBe(1)
    expect(errors).toEqual([])
  })

  it('ends when a push is interrupted, which changes nothing', async () => {
    const { url, firstStart, repositories, commit } = await filledServer()
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const command = pktLine(`${'0'.repeat(40)} ${commit} refs/heads/new\0report-status`)
    const head = `POST ${PUSH} HTTP/1.1\r\nhost: x\r\ncontent-type: ${PUSH_TYPE['content-type']}\r\ncontent-length: 1000`
    // All commands, and no objects.
    socket.write(`${head}\r\n\r\n${command}0000`)
    const process = await firstStart
    socket.destroy()
    await process.exited
    expect(git(repositories, ENGINE, 'for-each-ref', 'refs/heads/new')).toBe('')
  })

  // Bytes that were taken ahead of the reader would count as progress, for ever.
  it('is idle while its client does not read', async () => {
    const { url, firstStart } = await filledServer({
      limits: { idleTimeoutMs: 200 },
      program: 'yes',
    })
    const request = http.request(`${url}${FETCH}`, { method: 'POST', headers: FETCH_TYPE })
    request.end('0000')
    await once(request, 'response')
    expect(await (await firstStart).exited).toMatchObject({ code: null })
    request.destroy()
  })

  it('is idle while it does not read, even if its client sends data', async () => {
    const { url } = await filledServer({ limits: { idleTimeoutMs: 200 }, program: 'sleep 1000' })
    const body = Buffer.alloc(32 * 1024 * 1024)
    expect(await ask(`${url}${FETCH}`, { headers: FETCH_TYPE, body })).toMatchObject({
      status: 504,
    })
  })
})
