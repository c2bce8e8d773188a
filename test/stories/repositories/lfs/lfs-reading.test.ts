import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { openForge, refusalOf } from '../../../support/forge.ts'
import { lfsAt, lfsObject, pointerOf } from '../../../support/lfs.ts'
import { execFileSync } from '../../../support/programs.ts'

const { server, users, ask, rest, grpc } = await openForge({ settings: { lfsPushCheck: false } })
const { bob, carol } = users
const FILM = lfsObject('a film to be read')
const LOST = lfsObject('a film that nobody uploaded')

const read = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}/api/v1/repos/bob/films/${path}`, {
    headers: { authorization: bob.authorization, ...headers },
  })

beforeAll(async () => {
  await ask(bob, 'POST', '/user/repos', { name: 'films', private: true, auto_init: true })
  for (const [name, object] of Object.entries({ film: FILM, lost: LOST }))
    await ask(bob, 'POST', `/repos/bob/films/contents/${name}`, {
      content: Buffer.from(pointerOf(object)).toString('base64'),
    })
  await lfsAt(`${server.url}/bob/films`).upload(bob, FILM.content)
})

describe('the media of a file', () => {
  it('is the object of its pointer', async () => {
    const whole = await read('media/main/film')
    expect([whole.status, await whole.text()]).toEqual([200, FILM.content])
    expect(whole.headers.get('etag')).toBe(`"${FILM.oid}"`)
    const part = await read('media/film', { range: 'bytes=2-5' })
    expect([part.status, await part.text()]).toEqual([206, 'film'])
    expect(part.headers.get('content-range')).toBe(`bytes 2-5/${FILM.size}`)
    expect((await read('media/film', { 'if-none-match': `"${FILM.oid}"` })).status).toBe(304)
    const asked = { owner: 'bob', repo: 'films', path: 'film', form: 'media' }
    const chunks: Buffer[] = []
    for await (const { data } of grpc(ContentService, bob).getRawFile(asked))
      chunks.push(Buffer.from(data))
    expect(Buffer.concat(chunks).toString()).toBe(FILM.content)
  })

  it('is the file itself where the object is missing, and where the file is no pointer', async () => {
    expect(await (await read('media/lost')).text()).toBe(pointerOf(LOST))
    expect(await (await read('media/README.md')).text()).toContain('films')
    expect(await (await read('raw/film')).text()).toBe(pointerOf(FILM))
    expect((await read('media/none')).status).toBe(404)
  })

  it('is for those who may read the repository', async () => {
    expect((await rest(carol, 'GET', '/repos/bob/films/media/film')).status).toBe(404)
    const other = { owner: 'bob', repo: 'films', path: 'film', form: 'other' }
    const asked = (async () => {
      for await (const _ of grpc(ContentService, bob).getRawFile(other)) break
    })()
    expect(await refusalOf(asked)).toMatchObject({ reason: 'INVALID_FIELD' })
  })
})

describe('an archive', () => {
  /** Returns a file of an archive, and the listing. */
  async function unpacked(format: string, query: string, path: string) {
    const { status, headers, body } = await archive(`main.${format}?${query}`)
    const folder = await mkdtemp(join(tmpdir(), 'branchline-'))
    const file = join(folder, 'archive')
    await writeFile(file, body)
    // Python reads both formats.
    const read = `import sys,tarfile,zipfile
name,kind,path=sys.argv[1:]
a=zipfile.ZipFile(name) if kind=='zip' else tarfile.open(name)
if kind=='zip': assert a.testzip() is None
sys.stdout.write((a.read(path) if kind=='zip' else a.extractfile(path).read()).decode())`
    const content = execFileSync('python3', ['-c', read, file, format, path], { encoding: 'utf8' })
    await rm(folder, { recursive: true })
    return { status, etag: headers.get('etag'), content }
  }

  async function archive(name: string) {
    const response = await read(`archive/${name}`)
    const { status, headers } = response
    return { status, headers, body: Buffer.from(await response.arrayBuffer()) }
  }

  it.each(['zip', 'tar.gz'])('has pointers or objects (%s)', async (format) => {
    const plain = await unpacked(format, '', 'films/film')
    expect(plain.content).toBe(pointerOf(FILM))
    const full = await unpacked(format, 'lfs=true', 'films/film')
    expect(full.content).toBe(FILM.content)
    expect(full.etag).not.toBe(plain.etag)
    const lost = await unpacked(format, 'lfs=true&path=lost&path=README.md', 'films/lost')
    expect(lost.content).toBe(pointerOf(LOST))
  })

  it('of the history has no objects', async () => {
    const { status } = await archive('main.bundle?lfs=true')
    expect(status).toBe(422)
  })
})
