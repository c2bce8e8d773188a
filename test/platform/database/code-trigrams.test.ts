import { expect, it } from 'vitest'
import { TrigramReader, trigramsOf } from '../../../src/platform/database/code-trigrams.ts'

it('gives each three characters of a line once, without case', () => {
  expect(trigramsOf('abcABC')).toHaveLength(3)
  expect(trigramsOf('abcABC')).toEqual(trigramsOf('ABCabc'))
  expect(trigramsOf('ab\ncd\r\ne')).toEqual(trigramsOf('cd\r'))
  expect(trigramsOf('ab')).toEqual([])
})

it('has all trigrams of every part of a line, also beyond ASCII', () => {
  const text = 'Straße 漢字かな 😀 end'
  const all = new Set(trigramsOf(`first\n${text}\nlast`))
  for (let start = 0; start + 3 <= text.length; start++)
    for (const trigram of trigramsOf(text.slice(start, start + 5)))
      expect(all.has(trigram)).toBe(true)
})

it('gives tokens of letters and digits, which both databases read as one word', () => {
  for (const token of trigramsOf('\0\u{10ffff}"\' &|!()*:<>\\ \uffff\uffff\uffff'))
    expect(token).toMatch(/^[a-z0-9]+$/)
})

it('finds a word that ends in a sigma in a longer word', () => {
  const all = new Set(trigramsOf('ΟΔΟΣΑ'))
  for (const trigram of trigramsOf('ΟΔΟΣ')) expect(all.has(trigram)).toBe(true)
})

it('reads a text in parts', () => {
  const text = 'one two three\nfour five'
  const reader = new TrigramReader(text)
  while (reader.read(2)) expect(reader.count).toBeLessThan(text.length)
  expect(reader.tokens()).toEqual(trigramsOf(text))
})
