import { EventEmitter } from 'node:events'
import { inspect } from 'node:util'
import { createContextValues } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { Cancellation, OpenCalls } from '../../../../src/platform/rpc/exchange/cancellation.ts'
import { CallContext } from '../../../../src/platform/rpc/exchange/context.ts'
import { LazyHeaders } from '../../../../src/platform/rpc/exchange/headers.ts'
import { methodOf } from '../rest/schema.ts'
import { Things } from '../rest/things.ts'

const received = {
  host: 'forge.test',
  accept: 'a, b',
  connection: 'keep-alive, X-Private',
  'x-private': 'secret',
  'transfer-encoding': 'chunked',
  ':path': '/',
  'set-cookie': ['a=1', 'b=2'],
}

function openContext(timeoutMs?: number, openCalls = new OpenCalls(undefined)) {
  const connection = new EventEmitter()
  const cancellation = new Cancellation(timeoutMs, connection, openCalls)
  const context = new CallContext({
    method: methodOf(Things, 'GetThing'),
    protocolName: 'rest',
    requestMethod: 'GET',
    url: 'http://forge.test/things/a',
    requestHeader: new LazyHeaders(received),
    values: createContextValues(),
    cancellation,
  })
  return { context, cancellation, connection }
}

describe('LazyHeaders', () => {
  it('read like a Headers object before and after it becomes one', () => {
    const headers = new LazyHeaders(received)
    const read = () =>
      ['Host', 'accept', 'x-private', 'transfer-encoding', 'absent', 'constructor'].map((name) =>
        headers.get(name),
      )
    const before = read()
    expect(before).toEqual(['forge.test', 'a, b', null, null, null, null])
    expect(headers.untouched).toBe(true)
    expect([...headers]).toEqual([
      ['accept', 'a, b'],
      ['host', 'forge.test'],
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ])
    expect(headers.untouched).toBe(false)
    expect(read()).toEqual(before)
  })

  it('can be modified', () => {
    const headers = new LazyHeaders(received)
    headers.set('accept', 'c')
    headers.append('x-more', '1')
    headers.delete('host')
    expect([headers.get('accept'), headers.has('x-more'), headers.has('host')]).toEqual([
      'c',
      true,
      false,
    ])
  })

  it('replace a Headers object everywhere', () => {
    const headers = new LazyHeaders({ accept: 'a' })
    expect(headers).toBeInstanceOf(Headers)
    expect(new Headers(headers).get('accept')).toBe('a')
    expect(new Request('http://forge.test', { headers }).headers.get('accept')).toBe('a')
    expect(inspect(headers)).toContain("accept: 'a'")
    const seen: unknown[] = []
    headers.forEach(function (this: unknown, value, key, self) {
      seen.push([this, value, key, self])
    }, 'this')
    expect(seen).toEqual([['this', 'a', 'accept', headers]])
    expect([[...headers.keys()], [...headers.values()], headers.getSetCookie()]).toEqual([
      ['accept'],
      ['a'],
      [],
    ])
  })
})

describe('CallContext', () => {
  it('creates one signal when first used', () => {
    const { context } = openContext()
    expect(context.signal).toBe(context.signal)
    expect(context.protocolName).toBe('rest')
  })

  it('knows the time left', () => {
    expect(openContext().context.timeoutMs()).toBeUndefined()
    const { context, cancellation } = openContext(60_000)
    const { timeoutMs } = context
    expect(timeoutMs()).toBeGreaterThan(0)
    expect(timeoutMs()).toBeLessThanOrEqual(60_000)
    cancellation.end()
  })
})

describe('Cancellation', () => {
  it('aborts a signal that is in use', () => {
    const { context, cancellation } = openContext()
    const { signal } = context
    expect(signal.aborted).toBe(false)
    cancellation.cancel('gone')
    expect(signal.reason).toBe('gone')
  })

  it('returns an aborted signal after the cancellation', () => {
    const { context, cancellation } = openContext()
    cancellation.cancel('gone')
    cancellation.cancel('again')
    expect(context.signal.reason).toBe('gone')
  })

  it('watches the connection only if the signal is in use, until the end of the call', () => {
    const { context, cancellation, connection } = openContext()
    expect(connection.listenerCount('close')).toBe(0)
    const { signal } = context
    cancellation.end()
    const { reason } = signal
    connection.emit('close')
    expect(signal.reason).toBe(reason)
    const leaving = openContext()
    const gone = leaving.context.signal
    leaving.connection.emit('close')
    expect(gone.reason).toMatchObject({ rawMessage: 'the client is gone' })
  })

  it('aborts the signal when the call is complete, as Connect does', () => {
    const { context, cancellation } = openContext()
    const { signal } = context
    cancellation.end()
    expect(signal.aborted).toBe(true)
    cancellation.cancel('late')
    expect(signal.reason).not.toBe('late')
  })

  it('rejects a wait at the deadline, and not before', async () => {
    const { cancellation } = openContext(20)
    await expect(cancellation.limit(Promise.resolve(1))).resolves.toBe(1)
    await expect(cancellation.limit(new Promise(() => {}))).rejects.toThrow('timed out')
    await expect(cancellation.limit(new Promise(() => {}))).rejects.toThrow('timed out')
  })

  it('expires immediately with a timeout of 0', () => {
    const { context } = openContext(0)
    expect(context.signal.aborted).toBe(true)
  })

  it('sets no timer for a deadline beyond the range of timers', () => {
    const { context, cancellation } = openContext(9_999_999_999)
    expect(context.signal.aborted).toBe(false)
    cancellation.end()
  })

  it('aborts open calls at shutdown, and later calls', () => {
    const shutdown = new AbortController()
    const openCalls = new OpenCalls(shutdown.signal)
    const before = openContext(undefined, openCalls)
    const ended = openContext(undefined, openCalls)
    const [open, complete] = [before.context.signal, ended.context.signal]
    ended.cancellation.end()
    shutdown.abort('stop')
    expect(open.reason).toBe('stop')
    expect(complete.reason).not.toBe('stop')
    expect(openContext(undefined, openCalls).context.signal.reason).toBe('stop')
  })
})
