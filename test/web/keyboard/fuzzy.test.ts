import { expect, it } from 'vitest'
import { FuzzyTexts } from '../../../src/web/keyboard/fuzzy.ts'

const never = new AbortController().signal

async function find(texts: readonly string[], query: string, limit = 10): Promise<string[]> {
  const found = await new FuzzyTexts(texts).find(query, limit, never)
  return found.map(({ text }) => text)
}

it('puts the name of a file before its folders, and a beginning before a part', async () => {
  const texts = ['app/readme/x.ts', 'docs/old-app.md', 'src/app.ts', 'src/app', 'a/p/p.ts']
  expect(await find(texts, 'app')).toEqual([
    'src/app',
    'src/app.ts',
    'docs/old-app.md',
    'app/readme/x.ts',
    'a/p/p.ts',
  ])
})

it('finds letters that are apart, in any case and with spaces, and says where they are', async () => {
  const texts = new FuzzyTexts(['src/web/FileFinder.tsx', 'src/web/finder.tsx', 'LICENSE'])
  const [first, ...others] = await texts.find('f F', 10, never)
  expect(first).toMatchObject({ text: 'src/web/FileFinder.tsx', positions: [8, 12] })
  expect(others).toEqual([])
})

it('gives all texts for an empty query, the short ones first, up to the limit', async () => {
  expect(await find(['ccc', 'a', 'bb'], ' ', 2)).toEqual(['a', 'bb'])
})

it('keeps the best of many texts, and finds nothing that lacks a letter', async () => {
  const texts = Array.from({ length: 50_000 }, (_, i) => `packages/part-${i}/source/index.ts`)
  expect(await find([...texts, 'index.ts'], 'index.ts', 1)).toEqual(['index.ts'])
  expect(await find(texts, 'part49999', 5)).toEqual(['packages/part-49999/source/index.ts'])
  expect(await find(texts, 'quartz')).toEqual([])
})

it('gives no positions where lower case changes the length of a text', async () => {
  const [found] = await new FuzzyTexts(['İx.txt']).find('x', 1, never)
  expect(found).toMatchObject({ text: 'İx.txt', positions: [] })
})

it('lets the page work meanwhile, and ends with its signal', async () => {
  const texts = new FuzzyTexts(Array.from({ length: 400_000 }, (_, i) => `folder/${i}/x`.repeat(4)))
  const ended = new AbortController()
  const found = texts.find('folderx', 5, ended.signal)
  ended.abort(new Error('ended'))
  await expect(found).rejects.toThrow('ended')
})
