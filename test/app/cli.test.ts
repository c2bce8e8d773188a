import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { createClient } from '@connectrpc/connect'
import { Command } from 'commander'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { serveOptions } from '../../src/app/config/options.ts'
import { type Config, readConfig, type ServeFlags } from '../../src/app/config.ts'
import { migrations } from '../../src/forge/migrations/index.ts'
import { call, invoke, PROTOCOLS } from '../protocols/invoke.ts'
import { runCommand } from '../support/commands.ts'
import { prepareDatabase } from '../support/database.ts'
import { branchline, serveProcess, withFolder } from '../support/process.ts'
import { writeSchemaVersion } from '../support/schema-version.ts'
import {
  createTestUsers,
  PASSWORD,
  signIn,
  startTestServer,
  transportTo,
} from '../support/server.ts'

const createUser = (data: string, username: string, ...more: string[]) =>
  branchline(
    ['user', 'create', '--data', data, '--username', username, '--password-stdin', ...more],
    {
      input: `${PASSWORD}\n`,
    },
  )

describe('the command line', () => {
  it('says what it can do, in help that names every setting’s environment variable', async () => {
    const { code, stdout } = await branchline(['serve', '--help'])
    expect(code).toBe(0)
    for (const flag of stdout.matchAll(/^ {2}--([a-z-]+) </gm)) {
      expect(stdout).toContain(`BRANCHLINE_${flag[1]?.toUpperCase().replaceAll('-', '_')}`)
    }
  })

  it('prints its version', async () => {
    expect((await branchline(['version'])).stdout).toMatch(/^branchline \d+\.\d+\.\d+ \(Node 2\d\./)
  })

  it.each([
    ['an unknown command', ['serv'], {}, 'serv'],
    ['an unknown flag', ['serve', '--lisen', ':80'], {}, '--lisen'],
    [
      'an unknown setting in the environment',
      ['version'],
      { BRANCHLINE_LISEN: ':80' },
      'BRANCHLINE_LISEN',
    ],
    [
      'a bad value in the environment',
      ['serve'],
      { BRANCHLINE_REGISTRATION: 'maybe' },
      'BRANCHLINE_REGISTRATION',
    ],
    [
      'a certificate that does not exist',
      ['serve', '--tls-cert', 'a.pem', '--tls-key', 'b.pem'],
      {},
      'a.pem',
    ],
  ])('refuses %s and names it', async (_, args, env, named) => {
    const { code, stderr } = await branchline(args, { env })
    expect(code).toBe(1)
    expect(stderr).toContain(named)
    expect(stderr).not.toContain('    at ')
  })

  it('says so when the port is taken', async () => {
    const holder = createServer().listen(0, '127.0.0.1')
    await once(holder, 'listening')
    const address = holder.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const { code, stderr } = await withFolder((data) =>
      branchline(['serve', '--data', data, '--listen', `127.0.0.1:${port}`]),
    )
    holder.close()
    expect(code).toBe(1)
    expect(stderr).toContain(String(port))
  })
})

/** Reads settings as `serve` does, and throws what it would print. */
function readSettings(args: readonly string[]): Config {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} })
  for (const option of serveOptions()) command.addOption(option)
  return readConfig(command.parse(args, { from: 'user' }).opts<ServeFlags>())
}

describe('the settings', () => {
  it.each([
    ['a bad address', ['--listen', '8080'], '--listen'],
    ['a bad port', ['--listen', 'localhost:99999'], '--listen'],
    ['a bad switch', ['--reflection', 'yes'], '--reflection'],
    ['a bad size', ['--max-message-bytes', '4MB'], '--max-message-bytes'],
    ['a bad webhook host', ['--webhook-allowed-hosts', 'a.internal,*.internal'], '"*.internal"'],
    [
      'credentials in its own address',
      ['--public-url', 'https://ada:secret@git.example.org'],
      'without credentials',
    ],
    ['a bad wait', ['--webhook-retry-schedule', '5s,5 min'], '"5 min"'],
    ['a bad origin', ['--cors-origins', 'https://a.example/path'], 'https://a.example/path'],
    ['a bad header name', ['--proxy-auth-header', 'Authorization'], '--proxy-auth-header'],
    ['a network that is none', ['--trusted-proxies', '10.0.0.0/33'], '10.0.0.0/33'],
    ['to trust every client (*)', ['--trusted-proxies', '*'], '--trusted-proxies-any'],
    [
      'to trust every client (0.0.0.0/0)',
      ['--trusted-proxies', '0.0.0.0/0'],
      '--trusted-proxies-any',
    ],
    [
      'to trust every client (10.1.2.3/0)',
      ['--trusted-proxies', '10.1.2.3/0'],
      '--trusted-proxies-any',
    ],
    [
      'to trust every client (::1,::/0)',
      ['--trusted-proxies', '::1,::/0'],
      '--trusted-proxies-any',
    ],
    ['no workers', ['--workers', '0'], 'a whole number from 1 to 64, or auto'],
    ['workers that are no number', ['--workers', 'abc'], '--workers'],
    ['a window without an end', ['--maintenance-window', '01:00'], 'such as 01:30-05:00'],
    ['a stop that takes hours', ['--stop-delay', '2h'], 'a time from 0s to 5m'],
    ['a certificate without its key', ['--tls-cert', 'a.pem'], '--tls-key'],
  ])('cannot be %s, and the sentence names it', (_, args, named) => {
    expect(() => readSettings(args)).toThrow(named)
  })

  it('mean the same when a default is given by its word, such as off', () => {
    const printed = (args: readonly string[]) => inspect(readSettings(args), { depth: null })
    const unset = printed([])
    const given = serveOptions().flatMap(({ long, defaultValueDescription: text }) =>
      long && text && text !== 'none' ? [[long, text]] : [],
    )
    expect(given).toContainEqual(['--ssh-listen', 'off'])
    expect(given).toContainEqual(['--disk-reserve', 'auto'])
    for (const args of given) expect(printed(args), args.join(' ')).toBe(unset)
  })

  it.each([
    ['--prune-after', 'pruneAfterMs'],
    ['--lfs-unreferenced-after', 'lfsUnreferencedAfterMs'],
  ] as const)('%s off means never', (flag, name) => {
    expect(readSettings([flag, 'off']).settings[name]).toBeUndefined()
  })

  it('come from the environment too', () => {
    onTestFinished(() => {
      vi.unstubAllEnvs()
    })
    vi.stubEnv('BRANCHLINE_WORKERS', '1000')
    expect(() => readSettings([])).toThrow('BRANCHLINE_WORKERS')
  })
})

describe('user create', () => {
  it('makes an administrator without a server, in a folder that only its owner may read', async () => {
    await withFolder(async (folder) => {
      const data = join(folder, 'data')
      const made = await createUser(data, 'ada', '--role', 'admin', '--email', 'ada@example.org')
      expect(made).toEqual({ code: 0, stdout: 'created users/ada (admin)\n', stderr: '' })
      expect((await stat(data)).mode & 0o777).toBe(0o700)
      const again = await createUser(data, 'ADA')
      expect([again.code, again.stderr]).toEqual([1, 'branchline: the username "ADA" is taken\n'])
    })
  })

  it('works beside a server, which lets the account in', async () => {
    await withFolder(async (data) => {
      const server = await startTestServer({ data })
      expect((await createUser(data, 'ada', '--role', 'admin')).code).toBe(0)
      await signIn(server.url, 'ada')
      await server.stop()
    })
  })

  it('refuses a weak password', async () => {
    await withFolder(async (data) => {
      const args = ['user', 'create', '--data', data, '--username', 'ada', '--password-stdin']
      const { code, stderr } = await branchline(args, { input: 'short\n' })
      expect([code, stderr]).toEqual([1, expect.stringContaining('at least 8 characters')])
    })
  })
})

describe('migrate', () => {
  it('goes up, down and up again', async () => {
    await withFolder(async (data) => {
      const migrate = async (...args: string[]) =>
        (await runCommand(['migrate', '--data', data, ...args])).stdout
      const latest = migrations.length
      const names = migrations.map(({ name }) => name)
      // The database may be there already.
      await migrate('--to', '0')
      const { stdout } = await branchline(['migrate', '--data', data])
      expect(stdout).toBe(`version 0 to ${latest}: ${names.join(', ')}\n`)
      expect(await migrate()).toBe(`the database is at version ${latest}\n`)
      expect(await migrate('--to', '0')).toBe(
        `version ${latest} to 0: ${names.toReversed().join(', ')}\n`,
      )
      expect(await migrate()).toBe(`version 0 to ${latest}: ${names.join(', ')}\n`)
    })
  })

  it('refuses a version that does not exist', async () => {
    const { code, stderr } = await withFolder((data) =>
      runCommand(['migrate', '--data', data, '--to', '9998']),
    )
    expect([code, stderr]).toEqual([1, expect.stringContaining('version 9998')])
  })

  it('keeps the server from opening a database of a newer version', async () => {
    await withFolder(async (data) => {
      await prepareDatabase(data)
      await writeSchemaVersion(data, 9999)
      const { code, stderr } = await branchline([
        'serve',
        '--data',
        data,
        '--listen',
        '127.0.0.1:0',
      ])
      expect([code, stderr]).toEqual([1, expect.stringContaining('version 9999')])
    })
  })
})

describe('a server process', () => {
  // Hashing takes long enough for a signal to arrive in between.
  const slowCalls = (url: string) =>
    Array.from({ length: 6 }, (_, i) => {
      const made = call(
        UserService.method.createUser,
        { user: { username: `user-${i}`, password: PASSWORD } },
        'POST /api/v1/users',
        { username: `user-${i}`, password: PASSWORD },
      )
      return invoke(url, PROTOCOLS[i % PROTOCOLS.length] ?? 'REST', made)
    })

  it('finishes the calls in flight on SIGTERM and exits 0', async () => {
    await withFolder(async (data) => {
      const server = await serveProcess(data, ['--registration', 'open'])
      await createTestUsers(server.url)
      const calls = slowCalls(server.url)
      // The first answer shows that the others have arrived: they were sent before it.
      await calls[0]
      server.child.kill('SIGTERM')
      const outcomes = await Promise.all(calls)
      expect(await server.exited).toBe(0)
      expect(outcomes).toEqual(
        Array(6).fill({ message: expect.objectContaining({ role: 'USER' }) }),
      )
    })
  })

  it('exits at once on a second SIGTERM', async () => {
    await withFolder(async (data) => {
      const server = await serveProcess(data)
      // The body of this request never comes, so the drain has something to wait for.
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
      socket.on('error', () => {})
      socket.write('POST /api/v1/users HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n')
      await fetch(`${server.url}/healthz`)
      const draining = server.logged('finishing the calls in flight')
      server.child.kill('SIGTERM')
      await draining
      server.child.kill('SIGTERM')
      expect(await server.exited).toBe(1)
    })
  })

  it('has every account that it acknowledged after kill -9', async () => {
    await withFolder(async (data) => {
      const server = await serveProcess(data, ['--registration', 'open'])
      const client = createClient(UserService, transportTo(server.url, 'Connect JSON'))
      const acknowledged: string[] = []
      const writer = async (lane: number) => {
        for (let i = 0; ; i++) {
          const { username } = await client.createUser({
            user: { username: `u-${lane}-${i}`, password: PASSWORD },
          })
          acknowledged.push(username)
          if (acknowledged.length === 12) server.child.kill('SIGKILL')
        }
      }
      await Promise.allSettled([1, 2, 3, 4].map(writer))
      expect(await server.exited).toBe('SIGKILL')
      const restarted = await startTestServer({ data })
      const { users } = await createClient(
        UserService,
        transportTo(restarted.url, 'gRPC'),
      ).batchGetUsers({
        usernames: acknowledged,
      })
      await restarted.stop()
      expect(users.map(({ username }) => username)).toEqual(acknowledged)
    })
  })
})
