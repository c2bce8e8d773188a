import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { postgresPrograms } from '../../../scripts/checks/postgres-programs.mjs'
import { postgresUrl } from '../../../src/app/config/values.ts'
import { runCommand } from '../../support/commands.ts'
import { remoteOf } from '../../support/git-client.ts'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts'
import { type ServerProcess, serveProcess, withFolder } from '../../support/process.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { restAt } from '../../support/rest.ts'
import {
  type Actor,
  createTestUsers,
  PASSWORD,
  RPC_PROTOCOLS,
  startTestServer,
  transportTo,
} from '../../support/server.ts'

/** The start of PostgreSQL takes seconds on a busy machine. */
const TIMEOUT_MS = 120_000

describe.skipIf(!postgresPrograms)('with PostgreSQL (skipped without its programs)', async () => {
  const { data, client } = await openProcessStory()
  let postgres: PostgresServer
  let server: ServerProcess
  let bob: Actor
  const options = (database = 'forge') => [
    '--database',
    postgres.url(database),
    '--database-password-file',
    postgres.passwordFile,
  ]
  const serveOnPostgres = () => serveProcess(data, options())
  const startOnPostgres = (folder: string) => {
    const { passwordFile: databasePasswordFile } = postgres
    return startTestServer({ data: folder, database: options()[1], databasePasswordFile })
  }
  const end = async () => {
    server.child.kill('SIGTERM')
    expect(await server.exited).toBe(0)
  }

  beforeAll(async () => {
    postgres = await startPostgres()
    await postgres.createDatabase('forge')
    server = await serveOnPostgres()
    bob = (await createTestUsers(server.url)).bob
  }, TIMEOUT_MS)

  afterAll(async () => {
    server.child.kill('SIGKILL')
    await server.exited
    await postgres.remove()
  }, TIMEOUT_MS)

  const commitOnMain = async (url = server.url) => {
    const { body } = await restAt(url)(bob, 'GET', '/repos/bob/engine/branches/main')
    return (body as { commit: { id: string } }).commit.id
  }

  it(
    'accounts, repositories and pull requests survive a restart',
    async () => {
      const rest = restAt(server.url)
      await rest(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
      await client.git('.', 'clone', '-q', remoteOf(server.url, 'bob/engine', 'bob', PASSWORD), 'e')
      await client.git('e', 'checkout', '-qb', 'topic')
      await client.git('e', 'commit', '-q', '--allow-empty', '-m', 'tulips')
      await client.git('e', 'push', '-q', 'origin', 'topic')
      const pull = { title: 'Tulips', head: 'topic', base: 'main' }
      expect((await rest(bob, 'POST', '/repos/bob/engine/pulls', pull)).status).toBe(201)
      const merged = await rest(bob, 'POST', '/repos/bob/engine/pulls/1/merge', { Do: 'merge' })
      expect(merged.status).toBe(200)
      const before = await commitOnMain()
      await end()
      server = await serveOnPostgres()
      expect(await commitOnMain()).toBe(before)
      const { body } = await restAt(server.url)(bob, 'GET', '/repos/bob/engine/pulls/1')
      expect(body).toMatchObject({ merged: true, title: 'Tulips' })
      expect((await runCommand(['doctor', '--data', data, ...options()])).stdout).toContain(
        'nothing is wrong',
      )
    },
    TIMEOUT_MS,
  )

  it(
    'a server with another data folder is refused',
    () =>
      withFolder(async (other) => {
        await expect(startOnPostgres(other)).rejects.toThrow(
          'the PostgreSQL database belongs to another data folder',
        )
      }),
    TIMEOUT_MS,
  )

  it(
    'a server without --database is refused',
    async () => {
      await expect(startTestServer({ data })).rejects.toThrow(
        'are in PostgreSQL: name the database by --database',
      )
    },
    TIMEOUT_MS,
  )

  it(
    'a migration is refused while servers run',
    async () => {
      const { code, stderr } = await runCommand(['migrate', '--data', data, ...options()])
      expect(stderr).toContain(
        'another branchline works on this PostgreSQL database: stop it first',
      )
      expect(code).toBe(1)
    },
    TIMEOUT_MS,
  )

  it(
    'calls are UNAVAILABLE while PostgreSQL is stopped, and succeed afterwards',
    async () => {
      const before = await commitOnMain()
      await postgres.stop()
      try {
        const response = await fetch(`${server.url}/api/v1/repos/bob/engine`, {
          headers: { authorization: bob.authorization },
        })
        expect(response.status).toBe(503)
        expect(response.headers.get('retry-after')).toBe('5')
        for (const protocol of RPC_PROTOCOLS) {
          const users = createClient(UserService, transportTo(server.url, protocol))
          const error = ConnectError.from(
            await users.getUser({ name: 'users/bob' }).catch((thrown: unknown) => thrown),
          )
          expect(error.code).toBe(Code.Unavailable)
        }
        await expect(
          client.git('e', 'ls-remote', remoteOf(server.url, 'bob/engine')),
        ).rejects.toThrow('503')
      } finally {
        await postgres.start()
      }
      expect(await commitOnMain()).toBe(before)
      const remote = remoteOf(server.url, 'bob/engine', 'bob', PASSWORD)
      await client.git('e', 'push', '-q', remote, 'topic:again')
    },
    TIMEOUT_MS,
  )

  it(
    'a server that is killed releases the database',
    async () => {
      const before = await commitOnMain()
      server.child.kill('SIGKILL')
      await server.exited
      const next = await startOnPostgres(data)
      expect(await commitOnMain(next.url)).toBe(before)
      await next.stop()
    },
    TIMEOUT_MS,
  )

  it(
    'a database that cannot be used is named at the start',
    () =>
      withFolder(async (other) => {
        await postgres.createDatabase('ascii', "encoding 'SQL_ASCII' locale 'C' template template0")
        const migrate = (args: string[]) => runCommand(['migrate', '--data', other, ...args])
        expect((await migrate(options('ascii'))).stderr).toContain('has the encoding SQL_ASCII')
        expect((await migrate(options('absent'))).stderr).toContain('"absent" does not exist')
        expect((await migrate(['--database', 'postgres://127.0.0.1:1/x'])).stderr).toContain(
          'ECONNREFUSED',
        )
        for (const hosts of ['a,b', 'bob@a:5432,b:5433', 'a,b/x?target_session_attrs=read-write'])
          expect(() => postgresUrl(`postgres://${hosts}`)).toThrow('It must name one host')
        expect(() => postgresUrl('mysql://bob:tulip@127.0.0.1/x')).toThrow(
          'It must be like postgres://',
        )
      }),
    TIMEOUT_MS,
  )
})
