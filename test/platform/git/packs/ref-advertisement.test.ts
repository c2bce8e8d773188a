import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { readUploadPack } from '../../../../src/platform/git/packs/pack-services.ts'
import { DELIMITER, FLUSH, packetLine } from '../../../../src/platform/git/packs/packet-lines.ts'
import { answerRefs } from '../../../../src/platform/git/packs/ref-advertisement.ts'
import {
  deleteRepository,
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { type Random, seededRandom } from '../../rpc/rest/random.ts'
import {
  createFilledRepository,
  git,
  gitProcessesOf,
  settleFiles,
  testRepositories,
} from '../fixture.ts'

const ENGINE = 1
const MAX_BYTES = 1024 ** 2

let repositories: Repositories
let first: string

beforeEach(async () => {
  repositories = await testRepositories()
  first = await createFilledRepository(repositories, ENGINE)
  settleFiles()
})

const request = (protocol: string, body?: Buffer) => ({ protocol, body })

/** The body of a request for refs in version 2. */
function lsRefs(...parameters: string[]): Buffer {
  const lines = parameters.map((line) => packetLine(`${line}\n`))
  return Buffer.concat([packetLine('command=ls-refs\n'), DELIMITER, ...lines, FLUSH])
}

/** What the server says without a process; undefined when it needs Git. */
async function known(protocol: string, body?: Buffer): Promise<string | undefined> {
  const answer = await answerRefs(repositories, ENGINE, request(protocol, body))
  return answer && Buffer.concat(answer).toString('latin1')
}

/** What Git says. */
async function byGit(protocol: string, body?: Buffer): Promise<string | undefined> {
  const asked = { advertise: body === undefined, protocol, isLarge: false }
  const input = body ?? Buffer.alloc(0)
  const answer = await readUploadPack(repositories, ENGINE, asked, input, MAX_BYTES)
  return answer?.toString('latin1')
}

const processesOf = (work: () => Promise<unknown>) => gitProcessesOf(repositories, work)

describe('the refs that the server knows', () => {
  it.each(['', 'version=1', 'version=2'])('are listed as Git lists them: %j', async (protocol) => {
    expect(await known(protocol)).toBe(await byGit(protocol))
  })

  it('cost one process at first and none later', async () => {
    const ask = () => known('version=2', lsRefs('peel', 'symrefs'))
    expect(await processesOf(ask)).toBe(1)
    expect(await processesOf(ask)).toBe(0)
  })

  it('cost one process for many clients at once, all of whom see a change before their request', async () => {
    const ask = () => known('version=2', lsRefs('peel', 'symrefs'))
    const expected = await byGit('version=2', lsRefs('peel', 'symrefs'))
    const all = () => Promise.all(Array.from({ length: 20 }, ask))
    let answers: (string | undefined)[] = []
    const processes = await processesOf(async () => {
      answers = await all()
    })
    expect(processes).toBe(1)
    expect(new Set(answers)).toEqual(new Set([expected]))
    git(repositories, ENGINE, 'update-ref', 'refs/heads/other', first)
    const early = ask()
    git(repositories, ENGINE, 'update-ref', 'refs/heads/later', first)
    const late = await ask()
    const changed = await byGit('version=2', lsRefs('peel', 'symrefs'))
    // Without an answer, the caller asks Git.
    expect(late ?? changed).toBe(changed)
    await early
  })

  it('are the same for 200 random repositories and requests', { timeout: 120_000 }, async () => {
    // The server learns what Git says about itself where HEAD has a branch.
    await known('')
    const random = seededRandom(20_261_123)
    for (let round = 0; round < 20; round++) {
      changeRefs(random)
      for (let i = 0; i < 10; i++) {
        const body = randomQuestion(random)
        const answer = await known('version=2', body)
        expect(answer, `round ${round}: ${body}`).toBeDefined()
        expect(answer).toBe(await byGit('version=2', body))
      }
      for (const protocol of ['', 'version=0', 'version=1', 'version=2'])
        expect(await known(protocol)).toBe(await byGit(protocol))
    }
  })

  it('follow every change by another program at the next request', async () => {
    const ask = () => known('version=2', lsRefs('peel', 'symrefs', 'unborn'))
    const changes: (() => void)[] = [
      () => git(repositories, ENGINE, 'update-ref', 'refs/heads/other', first),
      () => git(repositories, ENGINE, 'pack-refs', '--all'),
      () => git(repositories, ENGINE, 'update-ref', '-d', 'refs/heads/other'),
      () => git(repositories, ENGINE, 'symbolic-ref', 'HEAD', 'refs/heads/new'),
      () => writeFileSync(pathOf('refs/heads/by-hand'), `${first}\n`),
      () => rmSync(pathOf('refs/heads/by-hand')),
      () => writeFileSync(pathOf('refs/heads/broken'), 'no id\n'),
      () => rmSync(pathOf('refs/heads/broken')),
      () => git(repositories, ENGINE, 'gc', '--quiet'),
      () => git(repositories, ENGINE, 'config', 'uploadpack.hideRefs', 'refs/heads/'),
    ]
    for (const change of changes) {
      await ask()
      change()
      const answer = await ask()
      const expected = await byGit('version=2', lsRefs('peel', 'symrefs', 'unborn'))
      // Without an answer, the caller asks Git.
      expect(answer ?? expected, String(change)).toBe(expected)
    }
  })

  it('are those of Git while a file is so young that its next change may not show', async () => {
    vi.restoreAllMocks()
    git(repositories, ENGINE, 'update-ref', 'refs/heads/young', first)
    expect(await known('version=2', lsRefs())).toBeUndefined()
  })

  it.each([
    ['a detached HEAD', () => git(repositories, ENGINE, 'update-ref', '--no-deref', 'HEAD', first)],
    [
      'another symbolic ref',
      () => git(repositories, ENGINE, 'symbolic-ref', 'refs/heads/alias', 'refs/heads/main'),
    ],
    [
      'a setting that hides refs',
      () => git(repositories, ENGINE, 'config', 'transfer.hideRefs', 'x'),
    ],
    ['a shallow history', () => writeFileSync(pathOf('shallow'), `${first}\n`)],
  ])('are left to Git in a repository with %s', async (_, change) => {
    change()
    expect(await known('version=2', lsRefs())).toBeUndefined()
    expect(await known('')).toBeUndefined()
  })

  it.each([
    ['an unknown command', packetLine('command=fetch\n')],
    ['an unknown parameter', lsRefs('shiny')],
    [
      'a session id',
      Buffer.concat([packetLine('command=ls-refs\n'), packetLine('session-id=x\n'), FLUSH]),
    ],
    ['two requests', Buffer.concat([lsRefs(), lsRefs()])],
    ['a request that is cut off', lsRefs('peel').subarray(0, -2)],
    ['no packet', Buffer.from('hello')],
  ])('are left to Git for %s', async (_, body) => {
    expect(await known('version=2', body)).toBeUndefined()
  })

  it('are gone with their repository', async () => {
    expect(await known('version=2', lsRefs())).toBeDefined()
    await deleteRepository(repositories, ENGINE)
    expect(await known('version=2', lsRefs())).toBeUndefined()
  })
})

function pathOf(name: string): string {
  return join(repositoryPath(repositories, ENGINE), name)
}

const NAMES = ['a', 'a-b', 'ab', 'b', 'feature/x', 'feature/y', 'über', 'Z', 'v1', 'v1.0'] as const
const FOLDERS = ['refs/heads', 'refs/tags', 'refs/pull/1', 'refs/notes', 'refs/branchline'] as const

/** Changes some refs: branches, tags of every kind, internal refs, and HEAD. */
function changeRefs(random: Random): void {
  for (let i = 0; i < 6; i++) {
    const name = random.pick(NAMES)
    const ref = `${random.pick(FOLDERS)}/${name}`
    const kind = random.below(5)
    if (kind === 0) git(repositories, ENGINE, 'update-ref', '-d', ref)
    else if (kind === 1) tag(name, first)
    else if (kind === 2) tag(`${name}-of-tag`, tag(name, first))
    else git(repositories, ENGINE, 'update-ref', ref, first)
  }
  if (random.below(3) === 0) git(repositories, ENGINE, 'pack-refs', '--all')
  const branch = random.pick(['main', 'a', 'no-such-branch'])
  git(repositories, ENGINE, 'symbolic-ref', 'HEAD', `refs/heads/${branch}`)
}

/** Creates an annotated tag and returns its name. */
function tag(name: string, target: string): string {
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org']
  git(repositories, ENGINE, ...identity, 'tag', '-f', '-a', '-m', 'a tag', name, target)
  return name
}

const PREFIXES = [
  'refs/heads/',
  'refs/tags/',
  'refs/heads/a',
  'refs/tags/v1',
  'HEAD',
  'H',
  'refs/',
  'refs/nothing/',
  'refs/heads/ü',
] as const

/** A request as Git clients send it, with any parameters. */
function randomQuestion(random: Random): Buffer {
  const flags = ['peel', 'symrefs', 'unborn'].filter(() => random.below(2) === 0)
  const count = random.below(4)
  const prefixes = Array.from({ length: count }, () => `ref-prefix ${random.pick(PREFIXES)}`)
  const lines = random.shuffle([...flags, ...prefixes])
  return Buffer.from(lsRefs(...lines.map((line) => Buffer.from(line).toString('latin1'))))
}
