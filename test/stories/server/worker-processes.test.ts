import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { lockDataFolder } from '../../../src/platform/database/data-lock.ts'
import { runCommand } from '../../support/commands.ts'
import { openGitClient, remoteOf } from '../../support/git-client.ts'
import { missingPostgres, missingSqlite } from '../../support/group-kinds.ts'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts'
import { branchline, type ServerProcess, serveUnderLoad } from '../../support/process.ts'
import { childrenOf, eventually, isAlive } from '../../support/process-spawner.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD, type TestUsers, transportTo } from '../../support/server.ts'
import { createSshKey, hasSsh, runSsh, sshOptions } from '../../support/ssh-client.ts'
import { isLongTier } from '../../support/tier.ts'

const WORKERS = 2

/** More than the buffers of a connection hold. */
const CLONED_BYTES = 32 * 1024 ** 2

/** Starting several servers takes seconds on a busy machine. */
const TIMEOUT_MS = 180_000

/** The databases of worker processes, and why one cannot be tested here. */
const DATABASES = [
  { database: 'PostgreSQL', missing: missingPostgres },
  { database: 'SQLite', missing: missingSqlite },
]

const TITLE = 'serve --workers on $database'

describe.each(DATABASES)(TITLE, { timeout: TIMEOUT_MS }, ({ database, missing }) => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let postgres: PostgresServer | undefined
  let data: string
  let place: readonly string[]
  let users: TestUsers | undefined
  let running: ServerProcess | undefined

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), 'branchline-'))
    if (database === 'SQLite') {
      place = []
      return
    }
    postgres = await startPostgres()
    await postgres.createDatabase('forge')
    const passwordFile = postgres.passwordFile
    place = ['--database', postgres.url('forge'), '--database-password-file', passwordFile]
  }, TIMEOUT_MS)

  afterAll(async () => {
    await halt()
    await postgres?.remove()
    await rm(data, { recursive: true })
  }, TIMEOUT_MS)

  /** Ends the server of the tests before. */
  const halt = async () => {
    running?.child.kill('SIGTERM')
    await running?.exited
  }
  /** Returns the server of the tests before, or another one with options if that has ended. */
  const serve = async (ssh = '127.0.0.1:0', ...more: string[]) => {
    const { exitCode, signalCode } = running?.child ?? {}
    if (running === undefined || exitCode !== null || signalCode !== null) {
      const args = [...place, '--workers', String(WORKERS), '--registration', 'open']
      const sshArgs = ['--ssh-listen', ssh, '--ssh-proxy-protocol', 'off']
      running = await serveUnderLoad(data, [...args, ...(hasSsh ? sshArgs : []), ...more])
    }
    const server = running
    users ??= await createTestUsers(server.url)
    return { server, users, pid: server.child.pid ?? 0, workers: () => workersOf(server) }
  }
  /** What is the same with each database is tested with one, and with both in the long tier. */
  const isRepeated = database === 'PostgreSQL' && !isLongTier
  const itOnce = it.skipIf(isRepeated)
  const itWithSsh = it.skipIf(isRepeated || !hasSsh)

  itOnce('divides the connections of one port among the processes', async () => {
    const { server, workers } = await serve()
    const sockets: Socket[] = []
    for (let i = 0; i < WORKERS * 2; i++) sockets.push(await ask(server.url, '/healthz'))
    const held = workers().map((pid) => connectionsOf(pid, server.url))
    // The connections of earlier calls count, too.
    expect(Math.max(...held) - Math.min(...held)).toBeLessThanOrEqual(1)
    expect(Math.min(...held)).toBeGreaterThanOrEqual(2)
    for (const socket of sockets) socket.destroy()
  })

  itOnce('keeps the primary process free of addons and connections', async () => {
    const { server, pid } = await serve()
    const socket = await ask(server.url, '/healthz')
    expect(readFileSync(`/proc/${pid}/maps`, 'utf8')).not.toMatch(/\.node$/m)
    expect(connectionsOf(pid, server.url)).toBe(0)
    socket.destroy()
  })

  itWithSsh('serves SSH at a port of its own by all processes', async () => {
    const { server, users } = await serve()
    await greetBob(server, users)
  })

  it('sums the metrics of all processes, also of one that is killed while calls go on', async () => {
    const { server, users, workers } = await serve()
    const sockets: Socket[] = []
    const calls = WORKERS * 2
    const { authorization } = users.ada
    const metric = async (name: string) => {
      const text = await (
        await fetch(`${server.url}/metrics`, { headers: { authorization, connection: 'close' } })
      ).text()
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(name))
          ?.split(' ')
          .at(-1),
      )
    }
    const counted = 'branchline_calls_total{method="branchline.v1.UserService/GetUser",code="OK"}'
    const timed =
      'branchline_call_duration_seconds_count{method="branchline.v1.UserService/GetUser"}'
    for (let i = 0; i < calls; i++) sockets.push(await ask(server.url, '/api/v1/users/bob'))
    expect(await metric(counted)).toBe(calls)
    expect(await metric(timed)).toBe(calls)
    const path = '/admin/metrics?names=branchline_calls_total'
    const typed = await restAt(server.url)(users.ada, 'GET', path)
    const labels = { method: 'branchline.v1.UserService/GetUser', code: 'OK' }
    expect(typed.body.metrics[0].samples).toContainEqual(
      expect.objectContaining({ labels, value: calls }),
    )
    // Those above, and the one that asks.
    expect(await metric('branchline_connections')).toBeGreaterThanOrEqual(calls + 1)
    const before = workers()
    const [killed = 0] = before
    process.kill(killed, 'SIGKILL')
    await eventually(() => expect(isAlive(killed)).toBe(false))
    for (let call = 0; call < 10; call++) expect(await readiness(server.url)).toBe(200)
    await replaced([killed], workers)
    expect(workers().filter((pid) => before.includes(pid))).toHaveLength(WORKERS - 1)
    expect(await metric(counted)).toBe(calls)
    for (const socket of sockets) socket.destroy()
  })

  it('takes pushes and merges by whichever process', async () => {
    const { server, users } = await serve()
    const rest = restAt(server.url)
    await rest(users.bob, 'POST', '/user/repos', { name: 'notes', auto_init: true })
    const client = await openGitClient()
    await client.git('.', 'clone', '-q', remoteOf(server.url, 'bob/notes', 'bob', PASSWORD), 'n')
    for (let number = 1; number <= WORKERS * 2; number++) {
      const head = `topic${number}`
      await client.git('n', 'checkout', '-q', '-b', head, 'origin/main')
      await client.git('n', 'commit', '-q', '--allow-empty', '-m', head)
      await client.git('n', 'push', '-q', 'origin', head)
      await rest(users.bob, 'POST', '/repos/bob/notes/pulls', { title: head, head, base: 'main' })
      const path = `/repos/bob/notes/pulls/${number}/merge`
      expect((await rest(users.bob, 'POST', path, { Do: 'merge' })).status).toBe(200)
      await client.git('n', 'fetch', '-q')
      const log = await client.git('n', 'log', '--format=%s', 'origin/main')
      // Commits of one second come in any order.
      expect(log.split('\n')).toContain(head)
    }
    await client.remove()
  })

  it('restarts all processes on SIGHUP, while calls and a clone go on', async () => {
    const { server, users, workers } = await serve()
    const rest = restAt(server.url)
    await rest(users.bob, 'POST', '/user/repos', { name: 'large', auto_init: true })
    const client = await openGitClient()
    const large = (url: string) => remoteOf(url, 'bob/large', 'bob', PASSWORD)
    await client.git('.', 'clone', '-q', large(server.url), 'l')
    await writeFile(join(client.home, 'l', 'much'), randomBytes(CLONED_BYTES))
    await client.git('l', 'add', 'much')
    await client.git('l', 'commit', '-q', '-m', 'Much')
    await client.git('l', 'push', '-q')
    const before = workers()
    const relay = await openRelay(server.url, CLONED_BYTES / 4)
    const clone = client.git('.', 'clone', '-q', large(relay.url), 'other')
    await relay.isFull
    // Their connections stay open between calls.
    const clients = (['Connect JSON', 'gRPC'] as const).map((protocol) =>
      createClient(UserService, transportTo(server.url, protocol)),
    )
    server.child.kill('SIGHUP')
    let calls = 0
    const isRestarted = () => workers().filter((pid) => !before.includes(pid)).length === WORKERS
    while (!isRestarted()) {
      for (const { getUser } of clients)
        expect((await unlessRefused(() => getUser({ name: 'users/bob' }))).username).toBe('bob')
      await rest(users.bob, 'POST', '/repos/bob/large/issues', { title: `Issue ${calls}` })
      calls += 1
    }
    const { body } = await rest(users.bob, 'GET', '/repos/bob/large/issues?limit=1')
    expect(body).toEqual([expect.objectContaining({ number: calls })])
    // The process that sends the clone waits for its end.
    expect(workers().filter((pid) => before.includes(pid))).not.toEqual([])
    relay.resume()
    await clone
    await relay.close()
    await replaced(before, workers)
    await client.remove()
  })

  it('lets doctor read beside all processes', async () => {
    await serve()
    const doctor = ['doctor', '--data', data, ...place]
    expect((await runCommand(doctor)).stdout).toBe('nothing is wrong\n')
    // With PostgreSQL, a command that works alone waits a minute for servers.
    if (postgres) return
    const { code, stderr } = await runCommand([...doctor, '--fix'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `branchline: another branchline works on ${data}: stop it first\n`,
    })
  })

  itOnce('prints one reason when the port is in use', async () => {
    const { server } = await serve()
    const { code, stderr } = await branchline([
      ...['serve', '--data', data, '--workers', String(WORKERS), ...place],
      ...['--listen', new URL(server.url).host],
    ])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^branchline: cannot listen on .*: the address is in use\n$/)
  })

  itOnce('answers calls that arrive while no process is left', async () => {
    const { server, workers } = await serve()
    const pids = workers()
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]))
    expect(await readiness(server.url)).toBe(200)
  })

  itOnce('lets a process that gets SIGTERM finish its calls, and replaces it', async () => {
    const { server, workers } = await serve()
    const calls = createAccounts(server.url, 'leaving')
    await calls[0]
    const pids = workers()
    for (const pid of pids) process.kill(pid, 'SIGTERM')
    await Promise.all(calls)
    await replaced(pids, workers)
    expect(await readiness(server.url)).toBe(200)
  })

  it('finishes the calls in flight on SIGTERM, and exits with 0', async () => {
    const { server, workers } = await serve()
    const pids = workers()
    const calls = createAccounts(server.url, 'draining')
    // The first response shows that the other calls have arrived.
    await calls[0]
    server.child.kill('SIGTERM')
    expect(await Promise.all(calls)).toHaveLength(calls.length)
    expect(await server.exited).toBe(0)
    expect(pids.filter(isAlive)).toEqual([])
  })

  itWithSsh('serves SSH at the port of HTTP by all processes', async () => {
    const { server, users } = await serve('same', '--stop-delay', '10s')
    const port = await greetBob(server, users)
    expect(port).toBe(Number(new URL(server.url).port))
  })

  itOnce('takes calls until the stop delay has passed', async () => {
    const { server, pid, workers } = await serve('same', '--stop-delay', '10s')
    const pids = workers()
    // As service managers do that signal all processes of a service.
    for (const signalled of [...pids, pid]) process.kill(signalled, 'SIGTERM')
    await eventually(async () => expect(await readiness(server.url)).toBe(503))
    const calls = Array.from({ length: WORKERS * 2 }, () =>
      fetch(`${server.url}/healthz`, { headers: { connection: 'close' } }),
    )
    for (const { status } of await Promise.all(calls)) expect(status).toBe(200)
    expect(await server.exited).toBe(0)
    expect(pids.filter(isAlive)).toEqual([])
  })

  itOnce('exits at once on a second SIGTERM', async () => {
    const { server, workers } = await serve()
    const pids = workers()
    const socket = await ask(server.url, '/healthz')
    // The body of this request never comes, so the drain has something to wait for.
    socket.write('POST /api/v1/users HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n')
    const draining = server.logged('finishing the calls in flight')
    server.child.kill('SIGTERM')
    await draining
    server.child.kill('SIGTERM')
    expect(await server.exited).toBe(1)
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]))
    socket.destroy()
  })

  itOnce('leaves no process behind when the primary process is killed', async () => {
    const { server, pid, workers } = await serve()
    const pids = [...workers(), ...workers().flatMap(childrenOf)]
    expect(pids.length).toBeGreaterThanOrEqual(WORKERS * 2)
    process.kill(pid, 'SIGKILL')
    await server.exited
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]))
  })

  it('prints one reason when it cannot start, and leaves nothing running', async () => {
    const other = await mkdtemp(join(tmpdir(), 'branchline-'))
    const lock = postgres ? undefined : lockDataFolder(other)
    const nowhere = postgres
      ? ['--database', postgres.url('nowhere'), '--database-password-file', postgres.passwordFile]
      : []
    const { code, stdout, stderr } = await branchline([
      ...['serve', '--data', other, '--listen', '127.0.0.1:0', '--workers', String(WORKERS)],
      ...nowhere,
    ])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe(
      postgres
        ? 'branchline: the PostgreSQL database cannot be used: database "nowhere" does not exist\n'
        : `branchline: another branchline works on ${other}: stop it first\n`,
    )
    expect(processesNaming(other)).toEqual([])
    lock?.release()
    await rm(other, { recursive: true })
  })
})

/** Returns the ids of the worker processes, the oldest first. */
function workersOf({ child }: ServerProcess): number[] {
  return childrenOf(child.pid ?? 0)
}

/**
 * Adds an SSH key of bob, and connects by it to all processes, also after the host keys were read
 * again. Returns the port of SSH.
 */
async function greetBob(server: ServerProcess, { bob }: TestUsers): Promise<number> {
  const { url } = server
  const client = await openGitClient()
  const rest = restAt(url)
  const key = await createSshKey(client.home, 'key')
  await rest(bob, 'POST', '/user/keys', { title: url, key })
  const { body } = await rest(undefined, 'GET', '/meta/ssh-host-keys')
  const options = [...sshOptions(client.home, 'key'), '-p', String(body.port)]
  const greet = () => runSsh([...options, 'git@127.0.0.1'])
  const all = async () => {
    const greetings = await Promise.all(Array.from({ length: WORKERS * 2 }, greet))
    for (const { code, stderr } of greetings)
      expect([code, stderr]).toEqual([0, expect.stringContaining('Hi bob!')])
  }
  await all()
  const pids = workersOf(server)
  server.child.kill('SIGHUP')
  await all()
  await replaced(pids, () => workersOf(server))
  await client.remove()
  return body.port
}

/** Waits until other processes run in the place of some worker processes. */
async function replaced(pids: readonly number[], workers: () => number[]): Promise<void> {
  await eventually(() => {
    expect(workers()).toHaveLength(WORKERS)
    expect(workers().filter((pid) => pids.includes(pid))).toEqual([])
  })
}

/**
 * Makes a call, and repeats the call where the server has told that no part of it was begun (RFC 9113
 * §8.7). Libraries of gRPC do so by themselves (https://github.com/grpc/proposal/blob/master/A6-client-retries.md).
 */
async function unlessRefused<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (!String(error).includes('NGHTTP2_REFUSED_STREAM')) throw error
    return call()
  }
}

/** Forwards connections to a server, and holds back what the server sends after some bytes. */
async function openRelay(url: string, bytes: number) {
  const { hostname, port } = new URL(url)
  const sockets: Socket[] = []
  const full = new EventEmitter()
  const isFull = once(full, 'full')
  let left = bytes
  const relay = createServer((socket) => {
    const upstream = connect(Number(port), hostname)
    sockets.push(socket, upstream)
    for (const each of [socket, upstream]) each.on('error', () => {})
    socket.pipe(upstream)
    upstream.on('data', (data) => {
      socket.write(data)
      left -= data.length
      if (left > 0 || full.listenerCount('full') === 0) return
      upstream.pause()
      full.emit('full')
    })
    upstream.on('end', () => socket.end())
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const address = relay.address()
  if (address === null || typeof address === 'string') throw new Error('a port has an address')
  return {
    url: `http://127.0.0.1:${address.port}`,
    isFull,
    resume: () => sockets.forEach((socket) => void socket.resume()),
    async close() {
      for (const socket of sockets) socket.destroy()
      relay.close()
      await once(relay, 'close')
    },
  }
}

/** Sends a request on a connection of its own, and returns the connection after the response. */
async function ask(url: string, path: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
  const [response] = await once(socket, 'data')
  expect(String(response)).toMatch(/^HTTP\/1\.1 200 /)
  return socket
}

async function readiness(url: string): Promise<number> {
  return (await fetch(`${url}/readyz`, { headers: { connection: 'close' } })).status
}

/** Creates accounts. Hashing takes long enough for a signal to arrive in between. */
function createAccounts(url: string, name: string) {
  return Array.from({ length: 6 }, (_, i) =>
    createClient(UserService, transportTo(url, 'Connect JSON')).createUser({
      user: { username: `${name}-${i}`, password: PASSWORD },
    }),
  )
}

/** Returns how many connections of a server a process has open (proc(5)). */
function connectionsOf(pid: number, url: string): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0')
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)
  const established = rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, local = '', , state]) => local.endsWith(`:${port}`) && state === '01')
  const sockets = new Set(established.map((fields) => `socket:[${fields[9]}]`))
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).filter((fd) => {
    try {
      return sockets.has(readlinkSync(`${folder}/${fd}`))
    } catch {
      return false
    }
  }).length
}

/** Returns the ids of the processes with a word among their arguments. */
function processesNaming(word: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word)
      } catch {
        return false
      }
    })
}
