import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { extract } from 'tar-stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresPrograms } from '../../../scripts/checks/postgres-programs.mjs'
import { connectionSettings } from '../../../src/platform/database/postgres.ts'
import { runCommand } from '../../support/commands.ts'
import { remoteOf } from '../../support/git-client.ts'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts'
import { branchline, MAIN } from '../../support/process.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { restAt } from '../../support/rest.ts'
import {
  createTestUsers,
  createToken,
  PASSWORD,
  signIn,
  startTestServer,
} from '../../support/server.ts'

/** The start of PostgreSQL, and commands on a busy machine, take seconds. */
const TIMEOUT_MS = 240_000

const TITLE = 'moving between SQLite and PostgreSQL (skipped without its programs)'

describe.skipIf(!postgresPrograms)(TITLE, { timeout: TIMEOUT_MS }, async () => {
  const { data, client } = await openProcessStory()
  const at = (name: string) => join(client.home, name)
  let postgres: PostgresServer
  let engineId: number
  let token: string

  const place = (database: string) => [
    '--database',
    postgres.url(database),
    '--database-password-file',
    postgres.passwordFile,
  ]
  const backup = (folder: string, archive: string, more: string[] = []) =>
    runCommand(['backup', '--data', folder, '--output', archive, ...more])
  const restore = (archive: string, folder: string, more: string[] = []) =>
    runCommand(['restore', '--input', archive, '--data', folder, ...more])
  const serveOnPostgres = (folder: string, database: string) =>
    startTestServer({
      data: folder,
      database: postgres.url(database),
      databasePasswordFile: postgres.passwordFile,
    })

  beforeAll(async () => {
    postgres = await startPostgres()
  }, TIMEOUT_MS)
  afterAll(() => postgres.remove(), TIMEOUT_MS)

  it('a backup of a busy server with SQLite becomes a server with PostgreSQL', async () => {
    const server = await startTestServer({ data })
    const { bob } = await createTestUsers(server.url)
    const rest = restAt(server.url)
    engineId = (await rest(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })).body.id
    token = await createToken(server.url, bob, ['read:repository', 'write:repository'])
    await client.git('.', 'clone', '-q', remoteOf(server.url, 'bob/engine', 'bob', PASSWORD), 'e')
    await client.git('e', 'checkout', '-qb', 'topic')
    const acknowledged = await client.commit('e', 'tulips')
    await client.git('e', 'push', '-q', 'origin', 'topic')
    const pull = { title: 'Tulips 🌷', head: 'topic', base: 'main' }
    await rest(bob, 'POST', '/repos/bob/engine/pulls', pull)
    const { body: release } = await rest(bob, 'POST', '/repos/bob/engine/releases', {
      tag_name: 'v1',
    })
    const upload = `${server.url}/api/v1/repos/bob/engine/releases/${release.id}/assets?name=bulbs`
    const headers = {
      'content-type': 'application/octet-stream',
      authorization: bob.authorization,
    }
    expect((await fetch(upload, { method: 'POST', headers, body: 'bulbs' })).status).toBe(201)
    // The id of a deleted repository is not given out again.
    const { body: gone } = await rest(bob, 'POST', '/user/repos', { name: 'gone' })
    await rest(bob, 'DELETE', '/repos/bob/gone')

    let isDone = false
    const pushing = (async () => {
      for (let i = 0; !isDone; i++) {
        await client.commit('e', `meanwhile ${i}`)
        await client.git('e', 'push', '-q', 'origin', `HEAD:refs/heads/meanwhile-${i}`)
      }
    })()
    const made = await branchline(['backup', '--data', data, '--output', at('sqlite.tar')])
    isDone = true
    await pushing
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('1 repositories') })
    await server.stop()

    await postgres.createDatabase('moved')
    const command = ['restore', '--input', at('sqlite.tar'), '--data', at('moved')]
    const moved = await branchline([...command, ...place('moved')])
    expect(moved).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/(\d+) rows \(\1 compared/),
    })
    const again = await serveOnPostgres(at('moved'), 'moved')
    const withToken = { authorization: `Bearer ${token}` }
    const ask = restAt(again.url)
    expect((await ask(withToken, 'GET', '/repos/bob/engine')).body.id).toBe(engineId)
    expect((await ask(withToken, 'GET', '/repos/bob/engine/pulls/1')).body.title).toBe(pull.title)
    await client.git('.', 'clone', '-q', remoteOf(again.url, 'bob/engine'), 'copied')
    expect(await client.git('copied', 'rev-parse', 'origin/topic')).toBe(acknowledged)
    const { body: assets } = await ask(
      withToken,
      'GET',
      `/repos/bob/engine/releases/${release.id}/assets`,
    )
    expect(await (await fetch(`${again.url}/attachments/${assets[0].uuid}`)).text()).toBe('bulbs')
    const merged = await ask(withToken, 'POST', '/repos/bob/engine/pulls/1/merge', { Do: 'merge' })
    expect(merged.status).toBe(200)
    const later = await ask(await signIn(again.url, 'bob'), 'POST', '/user/repos', { name: 'next' })
    expect(later.body.id).toBeGreaterThan(gone.id)
    await again.stop()
    const doctor = await runCommand(['doctor', '--fsck', '--data', at('moved'), ...place('moved')])
    expect(doctor).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing is wrong') })
  })

  it('a backup of PostgreSQL becomes a server with SQLite, which has the same rows', async () => {
    expect((await backup(at('moved'), at('postgres.tar'), place('moved'))).code).toBe(0)
    expect((await restore(at('postgres.tar'), at('back'))).code).toBe(0)
    expect((await backup(at('back'), at('back.tar'))).code).toBe(0)
    const [moved, back] = [await rowsIn(at('postgres.tar')), await rowsIn(at('back.tar'))]
    // A restored server reads all refs again, and looks whether repositories need maintenance.
    for (const rows of [moved, back])
      for (const table of ['pending_ref_updates', 'repository_maintenance']) rows.delete(table)
    expect(back.size).toBeGreaterThan(10)
    expect(back.get('issues')).toHaveLength(1)
    for (const rows of [moved, back]) rows.delete('issues')
    expect(back).toEqual(moved)
    const doctor = await runCommand(['doctor', '--fsck', '--data', at('back')])
    expect(doctor).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing is wrong') })
    const server = await startTestServer({ data: at('back') })
    const { body } = await restAt(server.url)(undefined, 'GET', '/repos/bob/engine/pulls/1')
    expect(body.merged).toBe(true)
    await server.stop()
  })

  it.each([
    ['the rows', /rows\/labels\.|rows\/refresh|rows\/repositories\./],
    ['the files', /repositories\/.*\/HEAD/],
    ['the end', /complete\.json/],
  ])(
    'a restore that is killed before %s is refused by servers, and begins anew',
    async (name, next) => {
      const database = `killed_${name.replace(' ', '_')}`
      const folder = at(database)
      await postgres.createDatabase(database)
      const archive = await readFile(at('postgres.tar'))
      const offset = next.exec(archive.toString('latin1'))?.index ?? 0
      expect(offset).toBeGreaterThan(0)
      const child = spawn(process.execPath, [
        MAIN,
        ...['restore', '--input', '-', '--data', folder],
        ...place(database),
      ])
      child.stdin.write(archive.subarray(0, offset))
      await untilRestoring(database)
      if (name !== 'the rows')
        await until(async () => (await readdir(`${folder}.restoring`)).includes('repositories'))
      child.kill('SIGKILL')
      await once(child, 'exit')

      await expect(serveOnPostgres(folder, database)).rejects.toThrow(
        'has an interrupted restore: run the same `restore` again',
      )
      await expectRestored(folder, database)
    },
  )

  it('a restore that is killed before its last step is ended by the same command', async () => {
    await postgres.createDatabase('last_step')
    const folder = at('last_step')
    expect((await restore(at('postgres.tar'), folder, place('last_step'))).code).toBe(0)
    await query('last_step', `update data_folders set id = 'restoring ' || id`)
    for (const command of [['backup', '--output', at('none.tar')], ['doctor']]) {
      const refused = await runCommand([...command, '--data', folder, ...place('last_step')])
      expect(refused.stderr).toContain('interrupted restore')
    }
    const ended = await restore(at('postgres.tar'), folder, place('last_step'))
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('finished') })
    await (await serveOnPostgres(folder, 'last_step')).stop()
  })

  it('a database or folder that an instance uses is refused, and remains as it is', async () => {
    const count = 'select count(*)::int as count from users'
    const before = await query('moved', count)
    const taken = await restore(at('postgres.tar'), at('new'), place('moved'))
    expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining('is not empty')])
    expect(await query('moved', count)).toEqual(before)
    await postgres.createDatabase('foreign_tables')
    await query('foreign_tables', 'create table tulips (id integer)')
    const foreign = await restore(at('postgres.tar'), at('new'), place('foreign_tables'))
    expect(foreign.stderr).toContain('is not empty')
    await postgres.createDatabase('unused')
    const folder = await restore(at('postgres.tar'), at('moved'), place('unused'))
    expect(folder.stderr).toContain('is not empty')
    const wrong = await backup(at('back'), at('wrong.tar'), place('moved'))
    expect(wrong.code).toBe(1)
  })

  it('an archive with another row is refused, and leaves nothing', async () => {
    const archive = await readFile(at('postgres.tar'))
    const changed = Buffer.from(archive)
    const row = changed.indexOf('carol@')
    expect(row).toBeGreaterThan(0)
    changed.write('mallo', row)
    await writeFile(at('changed.tar'), changed)
    await writeFile(at('short.tar'), archive.subarray(0, archive.length / 2))
    await postgres.createDatabase('tampered')
    for (const [name, reason] of [
      ['changed.tar', /damaged|cannot be read/],
      ['short.tar', /truncated|cannot be read/],
    ] as const)
      for (const more of [[], place('tampered')]) {
        const refused = await restore(at(name), at('tampered'), more)
        expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(reason)])
        expect((await readdir(client.home)).filter((file) => file.startsWith('tampered'))).toEqual(
          [],
        )
      }
    await expectRestored(at('tampered'), 'tampered')
  })

  /** Restores the backup of PostgreSQL into a database, which then has the same rows. */
  async function expectRestored(folder: string, database: string): Promise<void> {
    const restored = await restore(at('postgres.tar'), folder, place(database))
    expect(restored).toMatchObject({ code: 0, stdout: expect.stringContaining('restored') })
    const doctor = await runCommand(['doctor', '--data', folder, ...place(database)])
    expect(doctor).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing is wrong') })
  }

  /** Waits until a restore has begun. */
  const untilRestoring = (database: string) =>
    connected(database, (connection) =>
      until(async () => (await connection.query('select id from data_folders')).rows.length > 0),
    )

  const query = (database: string, text: string): Promise<unknown[]> =>
    connected(database, async (connection) => (await connection.query(text)).rows)

  async function connected<T>(
    database: string,
    work: (connection: pg.Client) => Promise<T>,
  ): Promise<T> {
    const { url, passwordFile } = postgres
    const connection = new pg.Client(connectionSettings({ url: url(database), passwordFile }))
    await connection.connect()
    try {
      return await work(connection)
    } finally {
      await connection.end()
    }
  }
})

/** Waits for a condition. A condition that fails does not hold yet. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition().catch(() => false))) await sleep(20)
}

/** Returns the rows in an archive by their tables, in an order. */
async function rowsIn(archive: string): Promise<Map<string, string[]>> {
  const tables = new Map<string, string[]>()
  const entries = createReadStream(archive).pipe(extract())
  for await (const entry of entries) {
    const table = /^rows\/(\w+)\./.exec(entry.header.name)?.[1]
    const content: Buffer[] = []
    for await (const chunk of entry) content.push(chunk as Buffer)
    if (table === undefined) continue
    const [, ...rows] = Buffer.concat(content).toString('utf8').trimEnd().split('\n')
    tables.set(table, [...(tables.get(table) ?? []), ...rows].sort())
  }
  return tables
}
