import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { HttpBodySchema } from '#gen/google/api/httpbody_pb.ts'
import { type DiffFiles, readDiffFiles } from '../../../src/web/code/diff-stream.ts'

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
