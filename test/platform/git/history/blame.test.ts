import { beforeEach, describe, expect, it } from 'vitest'
import { blameFile } from '../../../../src/platform/git/history/blame.ts'
import type { Repositories } from '../../../../src/platform/git/repositories/repositories.ts'
import type { ScriptedFile } from '../../../support/histories.ts'
import { git, gitProcessesOf, testRepositories, writeHistory } from '../fixture.ts'

const ENGINE = 1
const IGNORED = '.git-blame-ignore-revs'

let repositories: Repositories
let begin: string
let format: string

beforeEach(async () => {
  repositories = await testRepositories(1)
  writeHistory(repositories, ENGINE, [
    { message: 'Begin', files: { 'a.c': 'int main() {\nreturn 0;\n}\n' } },
    { message: 'Format', files: { 'a.c': 'int main() {\n  return 0;\n}\n' } },
  ])
  begin = git(repositories, ENGINE, 'rev-parse', 'main~1')
  format = git(repositories, ENGINE, 'rev-parse', 'main')
})

/** Commits a file, and returns the blame of `path` at the new commit. */
async function blameWith(
  files: Readonly<Record<string, ScriptedFile>>,
  path = 'a.c',
  bypassesIgnoreFile = false,
) {
  writeHistory(repositories, ENGINE, [{ message: 'Add', files, parents: [format] }])
  return blameTip(path, bypassesIgnoreFile)
}

function blameTip(path: string, bypassesIgnoreFile = false) {
  return blameFile(repositories, ENGINE, {
    commitId: git(repositories, ENGINE, 'rev-parse', 'main'),
    treeId: git(repositories, ENGINE, 'rev-parse', 'main^{tree}'),
    blobId: git(repositories, ENGINE, 'rev-parse', `main:${path}`),
    path,
    bypassesIgnoreFile,
  })
}

const range = (commitId: string, startLine: number, lineCount: number) => ({
  commitId,
  startLine,
  lineCount,
})

describe('a blame', () => {
  it('that is known starts no process, also for a large file', async () => {
    const files = { large: `${'x'.repeat(300 * 1024)}\n`, [IGNORED]: `${format}\n` }
    const first = await blameWith(files, 'large')
    const again = async () => expect(await blameTip('large')).toEqual(first)
    expect(await gitProcessesOf(repositories, again)).toBe(0)
  })

  it.each([
    ['an id', () => `${format}\n`],
    ['comments and empty lines', () => `# Format\r\n\r\n  ${format.toUpperCase()} # all files\r\n`],
    ['an id without a line end', () => format],
    ['ids that no commit has', () => `${'a'.repeat(40)}\n${format}\n${format}\n`],
    ['the id of a tree', () => `${git(repositories, ENGINE, 'rev-parse', 'main:')}\n${format}\n`],
  ])('passes over the commits of a list with %s', async (_, list) => {
    expect(await blameWith({ [IGNORED]: list() })).toEqual({
      ranges: [range(begin, 1, 3)],
      ignoreFile: 'used',
    })
  })

  it('keeps the lines that no earlier commit has', async () => {
    const blame = await blameWith({ [IGNORED]: `${begin}\n` })
    expect(blame?.ranges).toEqual([range(begin, 1, 1), range(format, 2, 1), range(begin, 3, 1)])
  })

  const plain = () => [range(begin, 1, 1), range(format, 2, 1), range(begin, 3, 1)]

  it('passes over nothing on request', async () => {
    expect(await blameWith({ [IGNORED]: `${format}\n` }, 'a.c', true)).toEqual({
      ranges: plain(),
      ignoreFile: 'none',
    })
  })

  it.each<[string, () => ScriptedFile, 'none' | 'faulty']>([
    ['the name of a branch', () => `main\n${format}\n`, 'faulty'],
    ['an expression of Git', () => `${format}^\n`, 'faulty'],
    ['an option', () => `--contents=/etc/passwd\n${format}\n`, 'faulty'],
    ['a short id', () => `${format.slice(0, 10)}\n`, 'faulty'],
    ['NUL', () => `${format}\0\n`, 'faulty'],
    ['too many bytes', () => `${format}\n${'#\n'.repeat(64 * 1024)}`, 'faulty'],
    [
      'too many ids',
      () =>
        `${format}\n${Array.from({ length: 1000 }, (_, i) => i.toString(16).padStart(40, '0')).join('\n')}`,
      'faulty',
    ],
    ['a symbolic link', () => ({ mode: '120000', content: format }), 'none'],
  ])('ignores a list with %s', async (_, list, ignoreFile) => {
    expect(await blameWith({ [IGNORED]: list() })).toEqual({ ranges: plain(), ignoreFile })
  })

  it('takes as many ids as a list may have', async () => {
    const ids = Array.from({ length: 998 }, (_, i) => i.toString(16).padStart(40, '0'))
    const blame = await blameWith({ [IGNORED]: [format, begin, ...ids].join('\n') })
    expect(blame?.ignoreFile).toBe('used')
  })
})
