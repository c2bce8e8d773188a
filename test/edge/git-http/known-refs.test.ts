import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { GitGrant, RefRequest } from '../../../src/edge/git-http/git-access.ts'
import { createFilledRepository } from '../../platform/git/fixture.ts'
import { ENGINE, type GitServerOptions, startGitServer } from './fixture.ts'

const ADVERTISEMENT = '/ada/engine.git/info/refs?service=git-upload-pack'
const FETCH = '/ada/engine.git/git-upload-pack'
const HEADERS = {
  'content-type': 'application/x-git-upload-pack-request',
  'git-protocol': 'version=2',
}
const LS_REFS = '0014command=ls-refs\n00010000'

/** What the server says in place of a list of refs. */
const KNOWN = 'what the server knows'

type AnswerRefs = NonNullable<GitGrant['answerRefs']>

/** A server that knows refs, and remembers the requests for them. */
async function knowingServer(
  answerRefs: AnswerRefs = async () => [Buffer.from(KNOWN)],
  limits: GitServerOptions['limits'] = {},
) {
  const asked: RefRequest[] = []
  const server = await startGitServer({
    limits,
    answerRefs: (request) => {
      asked.push(request)
      return answerRefs(request)
    },
  })
  onTestFinished(() => expect(server.started).toEqual([]))
  return { ...server, asked }
}

/** An answer for which the server takes for ever, as long as the test runs. */
const never: AnswerRefs = () => new Promise(() => {})

async function ask(url: string, body = LS_REFS, headers = {}) {
  const response = await fetch(`${url}${FETCH}`, {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body,
  })
  return { status: response.status, headers: response.headers, body: await response.text() }
}

/** Begins a request for refs and does not wait for the response. */
function begin(url: string): http.ClientRequest {
  const request = http.request(`${url}${FETCH}`, { method: 'POST', headers: HEADERS })
  request.on('error', () => {})
  onTestFinished(() => void request.destroy())
  request.end(LS_REFS)
  return request
}

describe('refs that the server knows', () => {
  it('are the response, over HTTP/1.1 and HTTP/2', async () => {
    const { url, asked } = await knowingServer()
    const answer = await ask(url)
    expect(answer).toMatchObject({ status: 200, body: KNOWN })
    expect(answer.headers.get('content-type')).toBe('application/x-git-upload-pack-result')
    expect(answer.headers.get('cache-control')).toContain('no-cache')

    const session = http2.connect(url)
    onTestFinished(() => session.destroy())
    const stream = session.request({ ':method': 'POST', ':path': FETCH, ...HEADERS })
    stream.end(LS_REFS)
    expect(await text(stream)).toBe(KNOWN)
    const request = { protocol: 'version=2', body: Buffer.from(LS_REFS) }
    expect(asked).toEqual([request, request])
  })

  it('follow the name of the service in an advertisement', async () => {
    const { url, asked } = await knowingServer()
    const response = await fetch(`${url}${ADVERTISEMENT}`)
    expect(await response.text()).toBe(`001e# service=git-upload-pack\n0000${KNOWN}`)
    expect(asked).toEqual([{ protocol: '', body: undefined }])
  })

  it('answer a compressed request', async () => {
    const { url, asked } = await knowingServer()
    const request = http.request(`${url}${FETCH}`, {
      method: 'POST',
      headers: { ...HEADERS, 'content-encoding': 'gzip' },
    })
    request.end(gzipSync(LS_REFS))
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    expect(await text(response)).toBe(KNOWN)
    expect(asked[0]?.body?.toString()).toBe(LS_REFS)
  })

  it('arrive whole where there are many', async () => {
    const refs = Buffer.from('many refs '.repeat(100_000))
    const { url } = await knowingServer(async () => [refs, Buffer.from('end')])
    expect((await ask(url)).body).toBe(`${refs}end`)
  })
})

describe('a request for refs that the server knows', () => {
  it('holds a slot until its response', async () => {
    let answer = () => {}
    const answerRefs: AnswerRefs = () =>
      new Promise((resolve) => {
        answer = () => resolve([Buffer.from(KNOWN)])
      })
    const { url, asked } = await knowingServer(answerRefs, { maxSessions: 1 })
    const first = once(begin(url), 'response')
    await expect.poll(() => asked.length).toBe(1)
    expect((await ask(url)).status).toBe(503)
    answer()
    await first
    const next = ask(url)
    await expect.poll(() => asked.length).toBe(2)
    answer()
    expect((await next).status).toBe(200)
  })

  it.each([
    ['its client leaves', {}],
    ['its time is up', { totalTimeoutMs: 50 }],
  ])('gives its slot back when %s', async (_, limits) => {
    const { url, asked, ended, errors } = await knowingServer(never, { maxSessions: 1, ...limits })
    const request = begin(url)
    await expect.poll(() => asked.length).toBe(1)
    if (!('totalTimeoutMs' in limits)) request.destroy()
    await expect.poll(() => ended.length).toBe(1)
    begin(url)
    await expect.poll(() => asked.length).toBe(2)
    expect(errors).toEqual([])
  })

  it('is ended, and the client receives the reason, when its time is up', async () => {
    const { url } = await knowingServer(never, { totalTimeoutMs: 50 })
    expect(await ask(url)).toMatchObject({ status: 504 })
    expect((await fetch(`${url}${ADVERTISEMENT}`)).status).toBe(504)
  })

  it('is ended when its client does not read a long list', async () => {
    const refs = Buffer.alloc(64 * 1024 * 1024)
    const { url, ended } = await knowingServer(async () => [refs], { idleTimeoutMs: 200 })
    await once(begin(url), 'response')
    await expect.poll(() => ended.map(({ isComplete }) => isComplete)).toEqual([false])
  })

  it.each<[refusal: string, status: number, body: string, headers: object]>([
    ['is too large', 413, `${LS_REFS}${'x'.repeat(2000)}`, {}],
    ['is not gzip', 400, LS_REFS, { 'content-encoding': 'gzip' }],
    ['has an unknown coding', 415, LS_REFS, { 'content-encoding': 'br' }],
  ])('is refused when it %s', async (_, status, body, headers) => {
    const { url, asked } = await knowingServer(undefined, { maxFetchRequestBytes: 1000 })
    expect((await ask(url, body, headers)).status).toBe(status)
    expect(asked).toEqual([])
  })

  it('reaches Git whole when the server does not know the answer', async () => {
    const answerRefs = async () => undefined
    const { url, repositories, started } = await startGitServer({ answerRefs, program: 'cat' })
    await createFilledRepository(repositories, ENGINE)
    const long = `${LS_REFS}${'0123456789abcdef'.repeat(10_000)}`
    const bodies = [LS_REFS, long, '0012command=fetch\n', '0014comm', '']
    for (const body of bodies) expect((await ask(url, body)).body).toBe(body)
    expect(started).toHaveLength(bodies.length)
  })
})
