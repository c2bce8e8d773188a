import { base64Decode } from '@bufbuild/protobuf/wire'
import { createClient } from '@connectrpc/connect'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CommitService } from '#gen/branchline/v1/commit_service_pb.ts'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { MAX_TURN_BYTES, writeTurns } from '../../../src/platform/rpc/exchange/write-turns.ts'
import { openForge } from '../../support/forge.ts'
import { commitOf, PackWriter, pushPack, treeOf } from '../../support/hostile-packs.ts'
import { transportTo } from '../../support/server.ts'

const { ask, server, users } = await openForge()

const FILES = 900
const COMMITS = 5
const CHANGED_FILES = 280
const NAME = 'n'.repeat(3_800)

/** An element of a list: an entry of a folder, or a commit with its files. */
const LARGEST_ELEMENT = 2 * CHANGED_FILES * NAME.length

beforeAll(async () => {
  const pack = new PackWriter()
  const file = pack.add('blob', 'text\n')
  const folder = (files: number, prefix: string) =>
    pack.add(
      'tree',
      treeOf(
        Array.from({ length: files }, (_, i) => ({
          mode: '100644',
          name: `${prefix}${String(i).padStart(4, '0')}${NAME}`,
          id: file.id,
        })),
      ),
    ).id
  const many = pack.add('commit', commitOf({ treeId: folder(FILES, ''), message: 'many\n' }))
  let commit = many
  for (let i = 0; i < COMMITS; i++) {
    const treeId = folder(CHANGED_FILES, `${i}-`)
    const text = { treeId, parentIds: [commit.id], message: `${i}\n`, time: 1_770_000_000 + i }
    commit = pack.add('commit', commitOf(text))
  }
  await ask(users.bob, 'POST', '/user/repos', { name: 'large' })
  const url = `${server.url}/bob/large.git`
  await pushPack(url, users.bob.authorization, 'many', many.id, pack)
  await pushPack(url, users.bob.authorization, 'changes', commit.id, new PackWriter())
})

beforeEach(() => {
  writeTurns.largest = 0
})

/** Makes sure that the answer was written in several turns of the event loop. */
function expectTurns() {
  expect(writeTurns.largest).toBeGreaterThanOrEqual(MAX_TURN_BYTES)
  expect(writeTurns.largest).toBeLessThan(MAX_TURN_BYTES + LARGEST_ELEMENT)
}

const CHANGES = { owner: 'bob', repo: 'large', sha: 'changes', limit: 50 }

describe('a large answer is written in turns', () => {
  it.each([
    ['a folder', '/contents?ref=many', FILES],
    ['commits with files', '/commits?sha=changes&limit=50', COMMITS + 1],
  ])('over REST: %s', async (_, path, count) => {
    expect(await ask(undefined, 'GET', `/repos/bob/large${path}`)).toHaveLength(count)
    expectTurns()
  })

  it.each(['gRPC', 'gRPC-Web', 'Connect JSON', 'Connect binary'] as const)(
    'over %s',
    async (to) => {
      const transport = transportTo(server.url, to)
      const { commits } = await createClient(CommitService, transport).listCommits(CHANGES)
      expect(commits.map(({ commit, files }) => [commit?.message, files.length])).toEqual([
        ...Array.from({ length: COMMITS }, (_, i) => [`${COMMITS - 1 - i}\n`, 300]),
        ['many\n', 300],
      ])
      expectTurns()
      const folder = { owner: 'bob', repo: 'large', ref: 'many' }
      const { entries } = await createClient(ContentService, transport).getContents(folder)
      expect(entries.map(({ name }) => name)).toEqual(
        Array.from({ length: FILES }, (_, i) => `${String(i).padStart(4, '0')}${NAME}`),
      )
    },
  )

  it('over gRPC-Web as text', async () => {
    const request = Buffer.concat([Buffer.alloc(5), Buffer.from(JSON.stringify(CHANGES))])
    request.writeUInt32BE(request.length - 5, 1)
    const answer = await fetch(`${server.url}/branchline.v1.CommitService/ListCommits`, {
      method: 'POST',
      headers: { 'content-type': 'application/grpc-web-text+json' },
      body: request.toString('base64'),
    })
    const bytes = Buffer.from(base64Decode(await answer.text()))
    const size = bytes.readUInt32BE(1)
    expect(JSON.parse(bytes.toString('utf8', 5, 5 + size)).commits).toHaveLength(COMMITS + 1)
    expect(bytes.toString('utf8', 10 + size)).toContain('grpc-status: 0')
    expectTurns()
  })
})
