import { afterAll, beforeAll, expect, it } from 'vitest'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { pushSample, type Sample } from '../../support/sample-repository.ts'

const forge = await openForge()
const { server, users, rest, ask } = forge
let sample: Sample

beforeAll(async () => {
  sample = await pushSample(server.url, users.bob, 'engine')
  await ask(users.bob, 'POST', '/user/repos', { name: 'empty', private: true })
})
afterAll(() => sample.remove())

const paths = (query = '') => rest(undefined, 'GET', `/repos/bob/engine/file_paths${query}`)

it('lists the paths of all files of a branch, a tag or a commit, as Git does', async () => {
  const listed = await sample.git('engine', 'ls-tree', '-r', '--name-only', '-z', 'main')
  const expected = listed
    .split('\0')
    .filter((path) => path !== '')
    // A path that is no UTF-8 is quoted, as everywhere.
    .map((path) => (path.includes('\ufffd') ? '"bytes\\377"' : path))
  const { status, body } = await paths()
  expect(status).toBe(200)
  const sha = await sample.git('engine', 'rev-parse', 'main')
  expect(body).toEqual({ paths: expected, sha, truncated: false })
  expect((await paths(`?ref=${sha}`)).body).toEqual(body)
  expect((await paths('?ref=v1')).body.paths).not.toEqual(expected)
})

it('says which ref does not exist, and shows nothing of a private repository', async () => {
  expect((await paths('?ref=nothing')).status).toBe(404)
  const client = forge.grpc(ContentService, users.bob)
  const missing = client.listFilePaths({ owner: 'bob', repo: 'engine', ref: 'nothing' })
  expect(await refusalOf(missing)).toMatchObject({ reason: 'REF_NOT_FOUND' })
  expect((await rest(undefined, 'GET', '/repos/bob/empty/file_paths')).status).toBe(404)
  expect((await rest(users.bob, 'GET', '/repos/bob/empty/file_paths')).body).toEqual({
    paths: [],
    sha: '',
    truncated: false,
  })
})
