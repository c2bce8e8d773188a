import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PackCache, readFetch } from '../../../../src/platform/git/packs/pack-cache.ts'
import type { GitProcess } from '../../../../src/platform/git/processes/running-git.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'branchline-packs-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** A process whose output and end a test decides. */
function process() {
  const stdout = new PassThrough()
  let end = (_code: number) => {}
  const exited = new Promise<{ code: number; stderr: string }>((resolve) => {
    end = (code) => {
      stdout.end()
      resolve({ code, stderr: '' })
    }
  })
  const git: GitProcess = { stdin: new PassThrough(), stdout, hooks: undefined, exited, stop() {} }
  return { git, stdout, end }
}

async function textOf(bytes: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of bytes) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const unexpected = () => expect.fail('a second process was started')

it('gives clients a pack while a process writes the pack, and after that', async () => {
  const packs = new PackCache(folder)
  expect(packs.isRepeated(1, 'a')).toBe(false)
  expect(packs.isRepeated(1, 'a')).toBe(true)
  // The same request for another repository is another pack.
  expect(packs.isRepeated(2, 'a')).toBe(false)
  const { git, stdout, end } = process()
  const first = textOf(packs.read(1, 'a', () => git))
  stdout.write('one ')
  const second = textOf(packs.read(1, 'a', unexpected))
  // A client that takes a part and leaves.
  for await (const chunk of packs.read(1, 'a', unexpected)) {
    expect(chunk.toString()).toBe('one ')
    break
  }
  stdout.write('two')
  end(0)
  expect(await Promise.all([first, second])).toEqual(['one two', 'one two'])
  expect(await textOf(packs.read(1, 'a', unexpected))).toBe('one two')
  packs.delete(1)
  const other = process()
  const third = textOf(packs.read(1, 'a', () => other.git))
  other.end(0)
  expect(await third).toBe('')
  packs.delete(1)
})

it('ends with an error when the process fails, and does not try again', async () => {
  const packs = new PackCache(folder)
  packs.isRepeated(1, 'a')
  const { git, stdout, end } = process()
  const read = textOf(packs.read(1, 'a', () => git))
  stdout.write('one')
  end(128)
  await expect(read).rejects.toThrow('git upload-pack has failed with 128')
  expect(packs.isRepeated(1, 'a')).toBe(false)
  expect(packs.isRepeated(1, 'a')).toBe(false)
})

const ID = 'a'.repeat(40)
const OTHER_ID = 'b'.repeat(40)
const line = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`
const requestOf = (command: string, ...lines: string[]) =>
  Buffer.from(`${line(command)}${line('agent=git/2.39.5')}0001${lines.map(line).join('')}0000`)

it('knows requests that differ in their order and their agent as the same', () => {
  const one = readFetch(requestOf('command=fetch', 'ofs-delta\n', `want ${ID}\n`, 'done\n'))
  const other = readFetch(requestOf('command=fetch\n', `want ${ID}`, 'ofs-delta', 'done'))
  expect(one).toEqual({ key: expect.any(String), wants: new Set([ID]) })
  expect(other).toEqual(one)
  for (const more of ['deepen 1', 'filter blob:none', 'include-tag', `want ${OTHER_ID}`]) {
    const key = readFetch(requestOf('command=fetch', `want ${ID}`, 'ofs-delta', more, 'done'))?.key
    expect(key, more).not.toBe(one?.key)
  }
})

it.each([
  ['a client that has objects', ['command=fetch', `want ${ID}`, `have ${OTHER_ID}`, 'done']],
  ['a client that asks again later', ['command=fetch', `want ${ID}`]],
  ['a shallow client', ['command=fetch', `want ${ID}`, `shallow ${OTHER_ID}`, 'done']],
  ['a limit by a ref', ['command=fetch', `want ${ID}`, 'deepen-not refs/heads/x', 'done']],
  ['a request for refs', ['command=ls-refs', 'done']],
  ['what is no id', ['command=fetch', 'want main', 'done']],
  ['no wants', ['command=fetch', 'done']],
] as const)('leaves %s to Git', (_what, [command, ...lines]) => {
  expect(readFetch(requestOf(command, ...lines))).toBeUndefined()
})

it('leaves what is no whole request to Git', () => {
  const request = requestOf('command=fetch', `want ${ID}`, 'done')
  expect(readFetch(request)).toBeDefined()
  for (const broken of [request.subarray(0, -1), Buffer.concat([request, request]), Buffer.of()])
    expect(readFetch(broken)).toBeUndefined()
})
