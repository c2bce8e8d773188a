import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { streamDiff, streamPatch } from '../../../../src/platform/git/diffs/patches.ts'
import {
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { execFileSync } from '../../../support/programs.ts'
import { isLongTier } from '../../../support/tier.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'
import { randomHistory } from '../random-history.ts'

let repositories: Repositories

beforeEach(async () => {
  repositories = await testRepositories(1)
})

const idOf = (name: string) => git(repositories, 1, 'rev-parse', name)

async function bytesOf(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const chunk of chunks) pieces.push(chunk)
  return Buffer.concat(pieces)
}

/** A clone whose work tree is at a commit, for git to apply things to. */
async function cloneAt(commit: string): Promise<(...args: string[]) => string> {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-apply-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const run = (...args: string[]) =>
    execFileSync(
      'git',
      ['-C', folder, '-c', 'user.name=Ada', '-c', 'user.email=a@example.org', ...args],
      {
        encoding: 'utf8',
        env: { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1' },
      },
    ).trim()
  run('clone', '-q', '--no-checkout', repositoryPath(repositories, 1), '.')
  run('checkout', '-q', '--detach', commit)
  return run
}

/** The tree that git makes of a commit and a text. */
async function apply(text: Buffer, commit: string): Promise<string> {
  const run = await cloneAt(commit)
  const file = join(run('rev-parse', '--absolute-git-dir'), 'text')
  await writeFile(file, text)
  run('apply', '--index', '--allow-empty', file)
  return run('write-tree')
}

async function applyMails(text: Buffer, commit: string): Promise<string> {
  const run = await cloneAt(commit)
  const file = join(run('rev-parse', '--absolute-git-dir'), 'patches as mails')
  await writeFile(file, text)
  run('am', '-q', '--keep-cr', file)
  return run('rev-parse', 'HEAD^{tree}')
}

/** Histories compared. Each takes a dozen processes. */
const HISTORIES = isLongTier ? 16 : 4

describe('a difference as text', () => {
  it.each(Array.from({ length: HISTORIES }, (_, seed) => seed))(
    'gives the same tree when Git applies it: history %i',
    async (seed) => {
      writeHistory(repositories, 1, randomHistory(seed))
      const [base, head] = [idOf('main~3'), idOf('main')]
      const diff = await bytesOf(streamDiff(repositories, 1, base, head, { binary: true }))
      expect(await apply(diff, base)).toBe(idOf('main^{tree}'))
      const mails = await bytesOf(streamPatch(repositories, 1, base, head))
      expect(await applyMails(mails, base)).toBe(idOf('main^{tree}'))
    },
  )

  it('contains binary files only on request', async () => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { picture: Buffer.from([0, 1]) } },
      { message: 'two', files: { picture: Buffer.from([0, 2]) } },
    ])
    const textOf = async (binary: boolean) =>
      String(await bytesOf(streamDiff(repositories, 1, idOf('main~1'), idOf('main'), { binary })))
    expect(await textOf(false)).toContain('Binary files a/picture and b/picture differ\n')
    expect(await textOf(true)).toContain('GIT binary patch\n')
  })

  it('ignores attributes of the repository', async () => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { '.gitattributes': '* -diff\n*.x diff=x\n', 'a.x': 'a\n' } },
      { message: 'two', files: { 'a.x': 'b\n' } },
    ])
    const diff = await bytesOf(
      streamDiff(repositories, 1, idOf('main~1'), idOf('main'), { binary: false }),
    )
    expect(String(diff)).toContain('-a\n+b\n')
  })

  it('is refused before the first byte when it is too large', async () => {
    // Zeros: little in the repository, and more than a git should hold when they are taken out.
    const half = Buffer.alloc(65 * 1024 * 1024)
    writeHistory(repositories, 1, [
      { message: 'one', files: { a: 'a\n' } },
      { message: 'two', files: { b: half } },
    ])
    const again = { mode: '100644', id: idOf('main:b') }
    writeHistory(repositories, 1, [
      { message: 'three', parents: [idOf('main')], files: { c: again } },
    ])
    const [base, head] = [idOf('main~2'), idOf('main')]
    const first = (chunks: AsyncGenerator<Buffer>) => chunks.next()
    await expect(
      first(streamDiff(repositories, 1, base, head, { binary: true })),
    ).rejects.toMatchObject({
      kind: 'TOO_LARGE',
    })
    await expect(first(streamPatch(repositories, 1, base, head))).rejects.toMatchObject({
      kind: 'TOO_LARGE',
    })
    // Nothing of them is in a text that leaves them out.
    expect(
      String(await bytesOf(streamDiff(repositories, 1, base, head, { binary: false }))),
    ).toContain('Binary files')
  })
})

describe('mails', () => {
  it('contain one mail for each commit, oldest first, without merges', async () => {
    writeHistory(repositories, 1, [
      { message: 'base', files: { a: 'a\n' } },
      { on: 'refs/heads/topic', parents: ['refs/heads/main'], message: 'one', files: { b: 'b\n' } },
      { message: 'other', files: { c: 'c\n' } },
      {
        on: 'refs/heads/topic',
        message: 'merge',
        parents: ['refs/heads/topic', 'refs/heads/main'],
        files: { c: 'c\n' },
      },
      { on: 'refs/heads/topic', message: 'two', files: { b: 'bb\n' } },
    ])
    const subjects = async (from: string | undefined, to: string) =>
      String(await bytesOf(streamPatch(repositories, 1, from, to))).match(/^Subject: .*$/gm)
    expect(await subjects(idOf('main'), idOf('topic'))).toEqual([
      'Subject: [PATCH 1/2] one',
      'Subject: [PATCH 2/2] two',
    ])
    expect(await subjects(undefined, idOf('main~1'))).toEqual(['Subject: [PATCH] base'])
    expect(await subjects(idOf('main'), idOf('main'))).toBeNull()
  })

  it('follow their parents, whatever the dates', async () => {
    const topic = 'refs/heads/topic'
    writeHistory(repositories, 1, [
      { message: 'base', files: { a: 'a\n' }, time: 1_770_000_000 },
      {
        on: topic,
        message: 'root',
        parents: ['refs/heads/main'],
        files: { b: 'b\n' },
        time: 1_770_000_200,
      },
      {
        on: 'refs/heads/side',
        message: 'late',
        parents: [topic],
        files: { b: 'bb\n' },
        time: 1_770_000_100,
      },
      { on: topic, message: 'early', files: { c: 'c\n' }, time: 1_770_000_300 },
      {
        on: topic,
        message: 'merge',
        parents: [topic, 'refs/heads/side'],
        files: { b: 'bb\n' },
        time: 1_770_000_400,
      },
    ])
    const mails = await bytesOf(streamPatch(repositories, 1, idOf('main'), idOf(topic)))
    expect(await applyMails(mails, idOf('main'))).toBe(idOf(`${topic}^{tree}`))
  })
})
