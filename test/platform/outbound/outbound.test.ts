import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server as TcpServer,
} from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { boundAddresses, resolveBySystem } from '../../../src/platform/outbound/destinations.ts'
import {
  createOutbound,
  type OutboundRequest,
  type SendOptions,
} from '../../../src/platform/outbound/outbound.ts'

const LIMITS: SendOptions = { timeoutMs: 10_000, maxResponseBytes: 1024 }

const servers: (Server | TcpServer)[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
  }
})

async function listening<S extends Server | TcpServer>(server: S): Promise<number> {
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/**
 * Starts a server on loopback.
 *
 * @returns its port.
 */
const serve = (listener: RequestListener) => listening(createServer(listener))

/**
 * Creates an Outbound with a fake resolver. Each lookup returns the next of the answers, then the
 * last one again.
 */
function outbound({
  allowed = '',
  answers = [['127.0.0.1']],
}: {
  allowed?: string
  answers?: string[][]
} = {}) {
  const lookups: string[] = []
  const made = createOutbound({
    allowedHosts: parseAllowedHosts(allowed),
    ownAddresses: () => ['198.41.0.4', '2606:4700::1'],
    async resolve(name) {
      lookups.push(name)
      return answers[Math.min(lookups.length, answers.length) - 1] ?? []
    },
  })
  const send = (
    url: string,
    options: Partial<SendOptions> = {},
    request: Partial<OutboundRequest> = {},
  ) =>
    made.send(
      { method: 'POST', headers: {}, body: '', ...request, url: new URL(url) },
      { ...LIMITS, ...options },
    )
  return { check: (url: string) => made.checkDestination(new URL(url), 'server'), send, lookups }
}

const failed = (failure: string) => expect.objectContaining({ failure, message: failure })

describe('checkDestination', () => {
  it.each([
    ['http://127.0.0.1/'],
    ['http://127.1/'],
    ['http://2130706433/'],
    ['http://017700000001/'],
    ['http://0x7f000001/'],
    ['http://0x7f.0.0.1/'],
    ['http://0177.0.0.0x1/'],
    ['http://127.0.0.1./'],
    ['http://0/'],
    ['http://①②⑦.⓪.⓪.①/'],
    ['http://127。0。0。1/'],
    ['http://%31%32%37.0.0.1/'],
    ['http:127.0.0.1/'],
    ['http:\\\\127.0.0.1/'],
    ['http://[::1]/'],
    ['http://[0:0:0:0:0:0:0:1]/'],
    ['http://[::]/'],
    ['http://[::ffff:127.0.0.1]/'],
    ['http://[::ffff:7f00:1]/'],
    ['http://[::127.0.0.1]/'],
    ['http://[64:ff9b::127.0.0.1]/'],
    ['http://[2002:7f00:1::]/'],
    ['https://169.254.169.254/latest/meta-data/'],
    // The server itself.
    ['http://198.41.0.4/'],
    ['http://[2606:4700:0::1]/'],
    ['http://[::ffff:198.41.0.4]/'],
  ])('blocks %s without asking a name server', async (url) => {
    const { check, lookups } = outbound()
    await expect(check(url)).rejects.toEqual(failed('BLOCKED_ADDRESS'))
    expect(lookups).toEqual([])
  })

  it.each([
    ['the only address is private', ['10.0.0.1']],
    ['one of several is', ['8.8.8.8', '::1']],
    ['it is IPv4 in IPv6', ['::ffff:10.0.0.1']],
    ['it has a zone', ['fe80::1%eth0']],
    ['it is of this service', ['2606:4700:0:0::1']],
  ])('blocks a name when %s', async (_, addresses) => {
    await expect(outbound({ answers: [addresses] }).check('http://hooks.example/')).rejects.toEqual(
      failed('BLOCKED_ADDRESS'),
    )
  })

  it.each([
    ['a public name', 'https://hooks.example/', {}],
    ['a public address', 'https://8.8.8.8:8443/', {}],
    ['an allowed name', 'http://Hooks.Internal./', { allowed: 'hooks.internal' }],
    ['a name with an allowed address', 'http://other.internal/', { allowed: '10.0.0.0/8' }],
    ['an allowed address', 'http://[::ffff:10.0.0.1]/', { allowed: '10.0.0.1' }],
    ['an allowed address of this service', 'http://198.41.0.4/', { allowed: '198.41.0.4' }],
  ])('lets %s pass', async (_, url, { allowed = '' }: { allowed?: string }) => {
    const answers = [url.includes('internal') ? ['10.0.0.1'] : ['8.8.8.8', '2606:4700::1111']]
    await expect(outbound({ allowed, answers }).check(url)).resolves.toBeUndefined()
  })

  it('rejects a name of which only some addresses are allowed', async () => {
    const { check } = outbound({ allowed: '10.0.0.1', answers: [['10.0.0.1', '10.0.0.2']] })
    await expect(check('http://hooks.example/')).rejects.toEqual(failed('BLOCKED_ADDRESS'))
  })

  it('serves many concurrent checks', async () => {
    const { check, lookups } = outbound({ answers: [['8.8.8.8']] })
    await Promise.all(Array.from({ length: 200 }, (_, i) => check(`http://h${i}.example/`)))
    expect(lookups).toHaveLength(200)
  })

  it('rejects a name that does not exist', async () => {
    await expect(outbound({ answers: [[]] }).check('http://hooks.example/')).rejects.toEqual(
      failed('UNRESOLVABLE_HOST'),
    )
    const real = createOutbound({ allowedHosts: parseAllowedHosts(''), ownAddresses: () => [] })
    // .invalid never exists (RFC 6761 section 6.4).
    await expect(real.checkDestination(new URL('http://hooks.invalid/'), 'server')).rejects.toEqual(
      failed('UNRESOLVABLE_HOST'),
    )
    await expect(real.checkDestination(new URL('http://localhost/'), 'server')).rejects.toEqual(
      failed('BLOCKED_ADDRESS'),
    )
  })
})

describe('concurrent checks', () => {
  it('wait in a queue, and are rejected when the queue is full', async () => {
    const ends: (() => void)[] = []
    const made = createOutbound({
      allowedHosts: parseAllowedHosts(''),
      ownAddresses: () => [],
      resolve: () =>
        new Promise((_, reject) => ends.push(() => reject(new Error('no name server')))),
    })
    const check = () =>
      made.checkDestination(new URL('http://hooks.example/'), 'server').then(() => '', String)
    const checks = Array.from({ length: 64 + 256 }, check)
    expect(await check()).toContain('TIMEOUT')
    expect(ends).toHaveLength(64)
    // Each check that ends starts the next one.
    while (ends.length > 0) {
      ends.shift()?.()
      await Promise.resolve()
    }
    await Promise.all(checks)
  })
})

describe('send', () => {
  it('sends the given request to the named host, and returns the response', async () => {
    const seen: unknown[] = []
    const port = await serve(async ({ method, url, headers }, response) => {
      seen.push([method, url, headers.host, headers['x-a'], headers.cookie])
      response.writeHead(201, { 'x-b': '2', 'set-cookie': ['c=1', 'd=2'] }).end('done')
    })
    const { send } = outbound({ allowed: '127.0.0.1' })
    const url = `http://hooks.example:${port}/in?x=%20y`
    const answer = await send(url, {}, { headers: { 'x-a': '1' }, body: 'text' })
    expect([
      answer.status,
      answer.headers.get('x-b'),
      answer.body.toString(),
      answer.isTruncated,
    ]).toEqual([...[201, '2', 'done', false]])
    await send(url, {}, { headers: { 'x-a': '1' } })
    // The second request sends no cookie.
    expect(seen).toEqual(
      Array(2).fill(['POST', '/in?x=%20y', `hooks.example:${port}`, '1', undefined]),
    )
  })

  it('connects to the checked address, even when another lookup would return another', async () => {
    let reached = 0
    const port = await serve((_, response) => {
      reached++
      response.end()
    })
    // The checked address does not respond. A second lookup would lead to the server on loopback.
    const { send, lookups } = outbound({
      allowed: '127.0.0.2',
      answers: [['127.0.0.2'], ['127.0.0.1']],
    })
    await expect(send(`http://hooks.example:${port}/`)).rejects.toEqual(failed('CONNECTION_FAILED'))
    expect([lookups, reached]).toEqual([['hooks.example'], 0])
  })

  it('checks the address again', async () => {
    let reached = 0
    const port = await serve((_, response) => {
      reached++
      response.end()
    })
    const { check, send } = outbound({ answers: [['8.8.8.8'], ['127.0.0.1']] })
    await check(`http://hooks.example:${port}/`)
    await expect(send(`http://hooks.example:${port}/`)).rejects.toEqual(failed('BLOCKED_ADDRESS'))
    expect(reached).toBe(0)
  })

  it('does not follow redirects', async () => {
    const paths: (string | undefined)[] = []
    const port = await serve((request, response) => {
      paths.push(request.url)
      response.writeHead(307, { location: '/inside' }).end()
    })
    const answer = await outbound({ allowed: '127.0.0.1' }).send(
      `http://hooks.example:${port}/outside`,
    )
    expect([answer.status, answer.headers.get('location')]).toEqual([307, '/inside'])
    expect(paths).toEqual(['/outside'])
  })

  it('ignores the proxies of the environment', async () => {
    let proxied = 0
    const proxy = await serve((_, response) => {
      proxied++
      response.end()
    })
    const port = await serve((_, response) => response.end('direct'))
    const names = ['http_proxy', 'HTTP_PROXY', 'ALL_PROXY', 'NODE_USE_ENV_PROXY']
    const before = names.map((name) => process.env[name])
    for (const name of names)
      process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://127.0.0.1:${proxy}`
    try {
      const answer = await outbound({ allowed: '127.0.0.1' }).send(`http://hooks.example:${port}/`)
      expect([answer.body.toString(), proxied]).toEqual(['direct', 0])
    } finally {
      for (const [i, name] of names.entries()) {
        if (before[i] === undefined) delete process.env[name]
        else process.env[name] = before[i]
      }
    }
  })

  it('limits the size of a response', async () => {
    const port = await serve((_, response) => {
      const more = () => {
        while (response.write(Buffer.alloc(65_536, 'x')));
        response.once('drain', more)
      }
      more()
    })
    const { send } = outbound({ allowed: '127.0.0.1' })
    const answer = await send(`http://hooks.example:${port}/`, { maxResponseBytes: 1000 })
    expect([answer.body.length, answer.isTruncated]).toEqual([1000, true])
  })

  it.each([
    ['before the headers', () => {}],
    [
      'within the headers',
      (socket: import('node:net').Socket) => socket.write('HTTP/1.1 200 OK\r\nx-a:'),
    ],
    [
      'within the body',
      (socket: import('node:net').Socket) => socket.write('HTTP/1.1 200 OK\r\n\r\npart'),
    ],
  ])('gives up when the time is over: a server that stops %s', async (_, answer) => {
    const port = await listening(createTcpServer(answer))
    const sent = outbound({ allowed: '127.0.0.1' }).send(`http://hooks.example:${port}/`, {
      timeoutMs: 50,
    })
    await expect(sent).rejects.toEqual(failed('TIMEOUT'))
  })

  it('times out when the name server does not respond', async () => {
    const { send } = createOutbound({
      allowedHosts: parseAllowedHosts(''),
      ownAddresses: () => [],
      resolve: () => new Promise(() => {}),
    })
    const request = { method: 'GET', url: new URL('http://hooks.example/'), headers: {} } as const
    await expect(send(request, { ...LIMITS, timeoutMs: 10 })).rejects.toEqual(failed('TIMEOUT'))
  })

  it('closes the connection when the caller aborts', async () => {
    const controller = new AbortController()
    const server = createTcpServer()
    const closed = once(server, 'connection').then(([socket]) => {
      controller.abort()
      socket.resume()
      return once(socket, 'close')
    })
    const port = await listening(server)
    const { send } = outbound({ allowed: '127.0.0.1' })
    const { signal } = controller
    await expect(send(`http://hooks.example:${port}/`, { signal })).rejects.toEqual(
      failed('CANCELLED'),
    )
    await closed
    await expect(send(`http://hooks.example:${port}/`, { signal })).rejects.toEqual(
      failed('CANCELLED'),
    )
  })

  it('reveals nothing about the network but the failure', async () => {
    const gone = await serve(() => {})
    servers.at(-1)?.close()
    const nonsense = await listening(createTcpServer((socket) => socket.end('220 mail ready\r\n')))
    const { send } = outbound({ allowed: '127.0.0.1' })
    for (const url of [
      `http://a.example:${gone}/`,
      `http://a.example:${nonsense}/`,
      `https://a.example:${nonsense}/`,
    ]) {
      await expect(send(url)).rejects.toEqual(failed('CONNECTION_FAILED'))
    }
  })

  it('does not check the address of a URL that an administrator set', async () => {
    const port = await serve((_, response) => response.end('inside'))
    const { send } = outbound()
    expect((await send(`http://127.0.0.1:${port}/`, { isTrusted: true })).body.toString()).toBe(
      'inside',
    )
    expect((await send(`http://hooks.example:${port}/`, { isTrusted: true })).body.toString()).toBe(
      'inside',
    )
  })
})

describe('resolveBySystem', () => {
  const { signal } = new AbortController()

  // Name servers do not resolve localhost. The untrusted lookup finds it in the hosts file.
  it.each([true, false])(
    'knows this machine by name, be the name trusted or not: %s',
    async (isTrusted) => {
      expect(await resolveBySystem('localhost', { isTrusted, signal })).toContain('127.0.0.1')
    },
  )

  it('does not look up names after an abort', async () => {
    const options = { isTrusted: false, signal: AbortSignal.abort(new Error('gone')) }
    await expect(resolveBySystem('hooks.invalid', options)).rejects.toThrow('gone')
  })
})

describe('boundAddresses', () => {
  it('are the listening address, or all addresses of the machine', () => {
    expect(boundAddresses('192.0.2.1')).toEqual(['192.0.2.1'])
    const all = Object.values(networkInterfaces()).flatMap((entries) => entries ?? [])
    for (const host of ['0.0.0.0', '::', '::0', 'git.example.org']) {
      expect(boundAddresses(host)).toEqual(all.map(({ address }) => address))
      expect(boundAddresses(host)).toContain('127.0.0.1')
    }
  })
})
