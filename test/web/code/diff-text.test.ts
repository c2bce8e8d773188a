import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { HttpBodySchema } from '#gen/google/api/httpbody_pb.ts'
import {
  countLines,
  type DiffFiles,
  lfsSizes,
  readDiff,
  readDiffFiles,
} from '../../../src/web/code/diff-text.ts'

const CHANGED = `diff --git a/src/a.ts b/src/a.ts
index 1111111..2222222 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -1,3 +1,4 @@ function a() {
 one
-two
+TWO
+and a half
 three
\\ No newline at end of file
`

describe('a diff', () => {
  it('has the lines of each file, with their numbers', () => {
    const [file] = readDiff(CHANGED)
    expect(file).toMatchObject({ path: 'src/a.ts', change: 'changed', isBinary: false })
    expect(file?.lines).toEqual([
      { kind: 'hunk', text: '@@ -1,3 +1,4 @@ function a() {' },
      { kind: 'same', text: 'one', oldNumber: 1, newNumber: 1 },
      { kind: 'removed', text: 'two', oldNumber: 2 },
      { kind: 'added', text: 'TWO', newNumber: 2 },
      { kind: 'added', text: 'and a half', newNumber: 3 },
      { kind: 'same', text: 'three', oldNumber: 3, newNumber: 4 },
      { kind: 'note', text: 'No newline at end of file' },
    ])
    expect(file && countLines(file)).toEqual({ added: 2, removed: 1 })
  })

  it('may have lines that look like those of a diff', () => {
    const text = CHANGED.replace('-two', '--- a/other').replace('+TWO', '+diff --git a/x b/x')
    expect(readDiff(text)).toHaveLength(1)
    expect(readDiff(text)[0]?.path).toBe('src/a.ts')
  })

  it.each([
    ['added', 'new file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a', 'x', undefined],
    [
      'removed',
      'deleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a',
      'x',
      undefined,
    ],
    ['renamed', 'similarity index 100%\nrename from x\nrename to dir/z', 'dir/z', 'x'],
    ['changed', 'old mode 100644\nnew mode 100755', 'x', undefined],
  ])('says that a file is %s', (change, header, path, previousPath) => {
    const [file] = readDiff(`diff --git a/x b/x\n${header}\n`)
    expect(file).toMatchObject({ change, path, previousPath })
  })

  it('says that a file is binary', () => {
    const [file] = readDiff(
      'diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n',
    )
    expect(file).toMatchObject({ path: 'x.png', isBinary: true, lines: [] })
  })

  it.each([
    ['"b/caf\\303\\251 \\"x\\".txt"', 'café "x".txt'],
    ['"b/tab\\there"', 'tab\there'],
    ['b/with space\t', 'with space'],
  ])('reads the path %s as Git writes it', (written, path) => {
    const [file] = readDiff(
      `diff --git a/x b/x\n--- /dev/null\n+++ ${written}\n@@ -0,0 +1 @@\n+a\n`,
    )
    expect(file?.path).toBe(path)
  })

  it('of nothing has no files', () => {
    expect(readDiff('')).toEqual([])
  })
})

/** A file whose content looks like the beginning of another one. */
const file = (name: string) =>
  `diff --git a/${name} b/${name}\n--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-ä\n+diff --git a/x b/x\n`

/** Sends a text in parts of so many bytes. */
async function* parts(text: string, size: number) {
  const bytes = new TextEncoder().encode(text)
  for (let i = 0; i < bytes.length; i += size)
    yield create(HttpBodySchema, { data: bytes.subarray(i, i + size) })
}

const paths = ({ files }: DiffFiles) => files.map(({ path }) => path)

describe('a streamed diff', () => {
  it.each([1, 7, 64, 10_000])('has the same files in parts of %s bytes', async (size) => {
    const names = Array.from({ length: 20 }, (_, i) => `file-${i}`)
    const all = await readDiffFiles(parts(names.map(file).join(''), size), () => undefined)
    expect(paths(all)).toEqual(names)
    expect(all.files.every(({ lines }) => lines.length === 3 && lines[1]?.text === 'ä')).toBe(true)
    expect(all).toMatchObject({ isCut: false, isComplete: true })
  })

  it('shows whole files before the end', async () => {
    const seen: DiffFiles[] = []
    await readDiffFiles(parts(file('one') + file('two') + file('three'), 30), (arrived) =>
      seen.push(arrived),
    )
    expect(seen[0] && paths(seen[0])).toEqual(['one'])
    expect(seen[0]?.isComplete).toBe(false)
  })

  it('of nothing has no files', async () => {
    expect(paths(await readDiffFiles(parts('', 1), () => undefined))).toEqual([])
  })

  it('is cut after 16 MiB, also within the only file', async () => {
    const text = `${file('large')}${'+line\n'.repeat(3_000_000)}`
    const all = await readDiffFiles(parts(text, 1 << 20), () => undefined)
    expect(all.isCut).toBe(true)
    expect(paths(all)).toEqual(['large'])
  })
})

describe('the change of a file in Git LFS', () => {
  const VERSION = 'version https://git-lfs.github.com/spec/v1'
  const [OLD, NEW] = ['a', 'b'].map((digit) => `oid sha256:${digit.repeat(64)}`)
  const sizesOf = (lines: readonly string[], title = 'index 1..2 100644') => {
    const head = ['diff --git a/f b/f', title, '--- a/f', '+++ b/f', '@@ -1,3 +1,3 @@']
    const [file] = readDiff([...head, ...lines, ''].join('\n'))
    return file && lfsSizes(file)
  }

  it('is that of its size', () => {
    const changed = [` ${VERSION}`, `-${OLD}`, '-size 12', `+${NEW}`, '+size 3400']
    expect(sizesOf(changed)).toEqual({ before: 12, after: 3400 })
    expect(sizesOf([` ${VERSION}`, `-${OLD}`, `+${NEW}`, ' size 12'])).toEqual({
      before: 12,
      after: 12,
    })
    expect(sizesOf([`+${VERSION}`, `+${NEW}`, '+size 3'], 'new file mode 100644')).toEqual({
      before: undefined,
      after: 3,
    })
  })

  it('is no such change where the file was or becomes another one', () => {
    expect(sizesOf(['-A text', `+${VERSION}`, `+${NEW}`, '+size 3'])).toBeUndefined()
    const [binary] = readDiff('diff --git a/f b/f\nBinary files a/f and b/f differ\n')
    expect(binary && lfsSizes(binary)).toBeUndefined()
  })
})
