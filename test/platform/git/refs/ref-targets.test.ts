import { describe, expect, it } from 'vitest'
import { storeTag } from '../../../../src/platform/git/objects/object-writes.ts'
import { readRefTargets } from '../../../../src/platform/git/refs/ref-targets.ts'
import {
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { execFileSync } from '../../../support/programs.ts'
import { ADA, createFilledRepository, git, testRepositories } from '../fixture.ts'

/** Stores an object as it is given, however odd. */
function store(repositories: Repositories, type: string, input: string): string {
  const args = [
    '-C',
    repositoryPath(repositories, 1),
    'hash-object',
    '-w',
    '--literally',
    '-t',
    type,
    '--stdin',
  ]
  return execFileSync('git', args, { input, encoding: 'utf8' }).trim()
}

async function filled() {
  const repositories = await testRepositories()
  const commit = await createFilledRepository(repositories, 1)
  const target = async (id: string) => (await readRefTargets(repositories, 1, [id])).get(id)
  return { repositories, commit, target }
}

describe('the target of a ref', () => {
  it('is a commit with its time and message', async () => {
    const { commit, target } = await filled()
    expect(await target(commit)).toEqual({
      isAnnotated: false,
      commitId: commit,
      time: ADA.time,
      message: 'first',
    })
  })

  it('is the commit at the end of one or several tag objects', async () => {
    const { repositories, commit, target } = await filled()
    const tagger = { ...ADA, time: ADA.time + 5 }
    const tag = await storeTag(repositories, 1, {
      name: 'v1',
      commitId: commit,
      tagger,
      message: '\none\n\ntwo\n',
    })
    const nested = store(
      repositories,
      'tag',
      `object ${tag}\ntype tag\ntag v2\ntagger A <a@b> 7 +0100\n\nouter\n`,
    )
    expect(await target(tag)).toEqual({
      isAnnotated: true,
      commitId: commit,
      time: ADA.time + 5,
      message: 'one\n\ntwo',
    })
    expect(await target(nested)).toEqual({
      isAnnotated: true,
      commitId: commit,
      time: 7,
      message: 'outer',
    })
  })

  it('can be a tag without a commit or a tagger; its signature is removed', async () => {
    const { repositories, commit, target } = await filled()
    const blob = git(repositories, 1, 'rev-parse', `${commit}:README.md`)
    const signature = '-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n'
    const odd = store(
      repositories,
      'tag',
      `object ${blob}\ntype blob\ntag v0\n\nmessage\n${signature}`,
    )
    expect(await target(odd)).toEqual({
      isAnnotated: true,
      commitId: undefined,
      time: 0,
      message: 'message',
    })
  })

  it('is left out for other objects and missing ones', async () => {
    const { repositories, commit } = await filled()
    const tree = git(repositories, 1, 'rev-parse', `${commit}^{tree}`)
    const blob = store(repositories, 'blob', 'tree of\n\nnothing\n'.repeat(20_000))
    const ids = [tree, blob, '1'.repeat(40), commit, commit]
    const targets = await readRefTargets(repositories, 1, ids)
    expect([...targets.keys()]).toEqual([commit])
    expect(await readRefTargets(repositories, 1, [])).toEqual(new Map())
  })

  it('has a message that is truncated to whole characters', async () => {
    const { repositories, commit, target } = await filled()
    const header = `object ${commit}\ntype commit\ntag v1\ntagger A <a@b> 7 +0100\n\n`
    const long = store(repositories, 'tag', `${header}x${'ü'.repeat(200_000)}`)
    const message = (await target(long))?.message ?? ''
    expect(Buffer.byteLength(message)).toBe(65_535)
    expect(message.endsWith('ü')).toBe(true)
  })
})
