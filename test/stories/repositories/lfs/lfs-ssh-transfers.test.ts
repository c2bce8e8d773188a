import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Forge, startForge } from '../../../support/forge.ts'
import { hasGitLfs, lfsAt, lfsObject } from '../../../support/lfs.ts'
import { LfsSshDriver } from '../../../support/lfs-ssh.ts'
import { createSshKey, hasSsh, runSsh, sshOptions } from '../../../support/ssh-client.ts'

const MAX_LFS_BYTES = 16 * 1024 ** 2
const DATA_BYTES = 65_516

// Only a file whose tests run stops its servers after them.
let forge: Forge
let port = ''

const ssh = (key: string, command: string) => [
  ...[...sshOptions(forge.client.home, key), '-p', port],
  ...['git@127.0.0.1', command],
]

/** Begins a session and chooses the version. */
async function open(key: string, operation: string): Promise<LfsSshDriver> {
  const driver = new LfsSshDriver(ssh(key, `git-lfs-transfer bob/films.git ${operation}`))
  expect(await driver.greeting()).toEqual(['version=1', 'locking'])
  expect(await driver.ask('version 1')).toMatchObject({ status: 200 })
  return driver
}

/** Quits a session as clients do. */
async function quit(driver: LfsSshDriver): Promise<void> {
  expect(await driver.ask('quit')).toMatchObject({ status: 200, args: [] })
  expect(await driver.end()).toMatchObject({ code: 0 })
}

interface Wanted {
  readonly oid: string
  readonly size: number
}

/** Asks for an object, and returns the action and the token. */
async function batchFor(driver: LfsSshDriver, { oid, size }: Wanted) {
  const { status, lines } = await driver.ask(
    'batch',
    ['transfer=ssh', 'hash-algo=sha256'],
    [`${oid} ${size}\n`],
  )
  const [, , action, token = ''] = lines[0]?.split(' ') ?? []
  return { status, action, token }
}

/** Uploads content in packets of the largest size. */
async function put(driver: LfsSshDriver, { oid, size }: Wanted, token: string, content: Buffer) {
  const packets: Buffer[] = []
  for (let start = 0; start < content.length; start += DATA_BYTES)
    packets.push(content.subarray(start, start + DATA_BYTES))
  return driver.ask(`put-object ${oid}`, [`size=${size}`, token], packets)
}

describe.skipIf(!hasSsh)('transfers of Git LFS over SSH (skipped where ssh is missing)', () => {
  beforeAll(async () => {
    const listen = { host: '127.0.0.1', port: 0 }
    forge = await startForge({
      ssh: { listen, public: {}, user: 'git', hostKeyFiles: [] },
      settings: { maxLfsBytes: MAX_LFS_BYTES },
    })
    port = forge.server.sshAddress?.split(':').at(-1) ?? ''
    const { ask, client, users } = forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'films', private: true, auto_init: true })
    await ask(users.bob, 'PUT', '/repos/bob/films/collaborators/carol', { permission: 'read' })
    for (const name of ['bob', 'carol'] as const) {
      const key = await createSshKey(client.home, name)
      await ask(users[name], 'POST', '/user/keys', { title: name, key })
    }
    const key = await createSshKey(client.home, 'reader')
    await ask(users.bob, 'POST', '/repos/bob/films/keys', { title: 'reader', key, read_only: true })
  })

  afterAll(() => forge?.stop())

  it('upload and download an object, which HTTP has too', async () => {
    const content = randomBytes(3 * DATA_BYTES + 17)
    const film = lfsObject(content)
    const up = await open('bob', 'upload')
    const { action, token } = await batchFor(up, film)
    expect([action, token]).toEqual(['upload', expect.stringMatching(/^token=branchline_lfs_/)])
    expect(await put(up, film, token, content)).toMatchObject({ status: 200, lines: [] })
    const verified = await up.ask(`verify-object ${film.oid}`, [`size=${film.size}`, token])
    expect(verified).toMatchObject({ status: 200, args: [] })
    expect((await batchFor(up, film)).action).toBe('noop')
    await quit(up)
    const down = await open('carol', 'download')
    const found = await batchFor(down, film)
    const got = await down.ask(`get-object ${film.oid}`, [`size=${film.size}`, found.token])
    expect([got.status, got.args]).toEqual([200, [`size=${film.size}`]])
    expect(got.body.equals(content)).toBe(true)
    await quit(down)
    const { body } = await lfsAt(`${forge.server.url}/bob/films`).batch(
      forge.users.bob,
      'download',
      [film],
    )
    expect(body.objects[0].actions.download.href).toContain(film.oid)
  })

  it('refuse what HTTP refuses, and go on', async () => {
    const film = lfsObject('a film that is refused')
    const up = await open('bob', 'upload')
    const { token } = await batchFor(up, film)
    const other = lfsObject('a film that is no film ')
    expect(await put(up, film, token, Buffer.from(other.content.slice(0, -1)))).toMatchObject({
      status: 422,
      lines: ['the content has another SHA-256'],
    })
    expect(await put(up, film, token, Buffer.from('short'))).toMatchObject({ status: 422 })
    expect(await put(up, film, token, Buffer.alloc(500_000))).toMatchObject({ status: 422 })
    expect(await put(up, film, 'token=x', Buffer.from(film.content))).toMatchObject({ status: 403 })
    expect(await put(up, film, 'token=', Buffer.from(film.content))).toMatchObject({ status: 403 })
    expect(await put(up, other, token, Buffer.from(other.content))).toMatchObject({ status: 403 })
    const verified = await up.ask(`verify-object ${film.oid}`, [`size=${film.size}`, token])
    expect(verified).toMatchObject({ status: 404 })
    expect(await up.ask('put-object x', ['size=1', token], ['x'])).toMatchObject({ status: 422 })
    const large = { oid: film.oid, size: MAX_LFS_BYTES + 1 }
    expect((await batchFor(up, large)).status).toBe(413)
    expect((await batchFor(up, { oid: 'x', size: 1 })).status).toBe(422)
    const many = Array.from({ length: 1001 }, () => `${film.oid} ${film.size}\n`)
    expect((await up.ask('batch', [], many)).status).toBe(413)
    const sha1 = await up.ask('batch', ['hash-algo=sha1'], [`${film.oid} ${film.size}\n`])
    expect(sha1.status).toBe(409)
    expect(await put(up, film, token, Buffer.from(film.content))).toMatchObject({ status: 200 })
    await quit(up)
    const down = await open('reader', 'download')
    expect((await batchFor(down, lfsObject('nowhere'))).action).toBe('noop')
    const upload = await put(down, film, token, Buffer.from(film.content))
    expect([upload.status, upload.lines]).toEqual([403, ['the session is for downloads']])
    expect(await down.ask(`get-object ${film.oid}`, [token])).toMatchObject({ status: 403 })
    await quit(down)
  })

  it('serve older clients, which send no token and another name of a command', async () => {
    const film = lfsObject('a film without a token')
    const up = await open('bob', 'upload')
    const large = await up.ask(`put-object ${film.oid}`, [`size=${MAX_LFS_BYTES + 1}`], ['x'])
    expect(large.status).toBe(413)
    const sent = await up.ask(`put-object ${film.oid}`, [`size=${film.size}`], [film.content])
    expect(sent.status).toBe(200)
    expect((await up.ask(`verify-object ${film.oid}`, [`size=${film.size}`])).status).toBe(200)
    expect((await up.ask('list-locks')).status).toBe(200)
    await quit(up)
    const down = await open('reader', 'download')
    expect((await down.ask(`get-object ${film.oid}`)).status).toBe(200)
    const more = await down.ask(`put-object ${film.oid}`, [`size=${film.size}`], [film.content])
    expect([more.status, more.lines]).toEqual([403, ['the session is for downloads']])
    await quit(down)
  })

  it('answer commands out of order, unknown ones and other versions', async () => {
    const driver = new LfsSshDriver(ssh('bob', 'git-lfs-transfer bob/films.git download'))
    await driver.greeting()
    expect(await driver.ask('batch', [], ['x 1\n'])).toMatchObject({
      status: 400,
      lines: ['choose a version of the protocol first'],
    })
    expect(await driver.ask('version 2')).toMatchObject({ status: 400 })
    expect(await driver.ask('version 1', ['unknown=argument'])).toMatchObject({ status: 200 })
    expect(await driver.ask('dance', ['x=1'], ['and a body'])).toMatchObject({
      status: 400,
      lines: ['unknown command'],
    })
    await quit(driver)
    const broken = await open('bob', 'download')
    broken.write('zzzz')
    await expect(broken.answer()).rejects.toThrow('the session has ended')
    await broken.end()
  })

  it('store nothing of an upload that ends early', async () => {
    const film = lfsObject('a film that ends early')
    const up = await open('bob', 'upload')
    const { token } = await batchFor(up, film)
    up.write(`${(film.oid.length + 16).toString(16).padStart(4, '0')}put-object ${film.oid}\n`)
    for (const argument of [`size=${film.size}`, token])
      up.write(`${(argument.length + 5).toString(16).padStart(4, '0')}${argument}\n`)
    up.write('0001000aa film')
    await up.end()
    const again = await open('bob', 'upload')
    expect((await batchFor(again, film)).action).toBe('upload')
    await quit(again)
  })

  it('create, list and end locks', async () => {
    const up = await open('bob', 'upload')
    const created = await up.ask('lock', ['path=folder/a film.bin', 'refname=refs/heads/main'])
    expect(created.status).toBe(201)
    const [id = '', ...rest] = created.args
    expect(rest).toEqual([
      'path=folder/a film.bin',
      expect.stringMatching(/^locked-at=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      'ownername=bob',
    ])
    const again = await up.ask('lock', ['path=folder/a film.bin'])
    expect([again.status, again.args, again.lines]).toEqual([
      409,
      created.args,
      ['already created lock'],
    ])
    expect((await up.ask('lock', ['path=../x'])).status).toBe(422)
    await up.ask('lock', ['path=second.bin'])
    const number = id.replace('id=', '')
    const first = await up.ask('list-lock', ['limit=1'])
    expect(first.lines).toEqual([
      `lock ${number}`,
      `path ${number} folder/a film.bin`,
      expect.stringMatching(`^locked-at ${number} `),
      `ownername ${number} bob`,
      `owner ${number} ours`,
    ])
    const cursor = first.args[0]?.replace('next-cursor', 'cursor') ?? ''
    const next = await up.ask('list-lock', ['limit=1', cursor])
    expect([next.args, next.lines.length]).toEqual([[], 5])
    expect((await up.ask('list-lock', ['cursor=x'])).status).toBe(422)
    const down = await open('carol', 'download')
    const filtered = await down.ask('list-lock', ['path=second.bin'])
    expect(filtered.lines).toHaveLength(4)
    expect((await down.ask('lock', ['path=third.bin'])).status).toBe(403)
    await quit(down)
    expect((await up.ask(`unlock ${number}`, [])).args).toEqual(created.args)
    expect((await up.ask(`unlock ${number}`, [])).status).toBe(404)
    expect((await up.ask('unlock x', [])).status).toBe(404)
    await quit(up)
  })

  it('need the right of the operation, at every command', async () => {
    const transfer = async (key: string, rest: string) => {
      const { code, stdout, stderr } = await runSsh(ssh(key, `git-lfs-transfer ${rest}`))
      return [code, stdout, stderr]
    }
    const denied = 'Branchline: User permission denied for writing.\n'
    expect(await transfer('carol', 'bob/films.git upload')).toEqual([1, '', denied])
    const missing = [1, '', 'Branchline: Repository not found.\n']
    expect(await transfer('carol', 'bob/none.git download')).toEqual(missing)
    expect(await transfer('reader', 'bob/films.git upload')).toEqual([
      1,
      '',
      'Branchline: this deploy key is read-only\n',
    ])
    const film = lfsObject('a film for some')
    await lfsAt(`${forge.server.url}/bob/films`).upload(forge.users.bob, film.content)
    const down = await open('carol', 'download')
    const { token } = await batchFor(down, film)
    await forge.ask(forge.users.bob, 'DELETE', '/repos/bob/films/collaborators/carol')
    expect((await down.ask(`get-object ${film.oid}`, [token])).status).toBe(404)
    expect((await batchFor(down, film)).status).toBe(404)
    await quit(down)
  })

  it.skipIf(!hasGitLfs)('serve the client of Git LFS alone', async () => {
    const { ask, client, users } = forge
    const { git, home } = client
    await ask(users.bob, 'POST', '/user/repos', { name: 'alone', private: true, auto_init: true })
    const url = `ssh://git@127.0.0.1:${port}/bob/alone.git`
    const settings = [
      ['core.sshCommand', ['ssh', ...sshOptions(home, 'bob')].join(' ')],
      // Without HTTP as a second way.
      ['lfs.sshtransfer', 'always'],
      ['filter.lfs.process', 'git-lfs filter-process'],
      ['filter.lfs.smudge', 'git-lfs smudge -- %f'],
      ['filter.lfs.clean', 'git-lfs clean -- %f'],
    ]
    for (const [name = '', value = ''] of settings)
      await git('.', 'config', '--global', name, value)
    await git('.', 'clone', '-q', url, 'alone')
    await git('alone', 'lfs', 'install', '--local')
    await git('alone', 'lfs', 'track', '*.film')
    const films = {
      empty: Buffer.alloc(0),
      byte: Buffer.from('x'),
      long: randomBytes(4 * 1024 ** 2),
    }
    for (const [name, content] of Object.entries(films))
      await writeFile(join(home, 'alone', `${name}.film`), content)
    await git('alone', 'add', '.')
    await client.commit('alone', 'Films')
    await git('alone', 'push', '-q', 'origin', 'HEAD')
    await git('.', 'clone', '-q', url, 'alone-again')
    for (const [name, content] of Object.entries(films))
      expect((await readFile(join(home, 'alone-again', `${name}.film`))).equals(content)).toBe(true)
    expect(await git('alone-again', 'lfs', 'fsck')).toContain('Git LFS fsck OK')
    await git('alone', 'lfs', 'lock', 'long.film')
    expect(await git('alone', 'lfs', 'locks', '--verify')).toMatch(/^O?\s*long\.film\s+bob/m)
    await git('alone', 'lfs', 'unlock', 'long.film')
    expect(await git('alone', 'lfs', 'locks')).toBe('')
  })
})
