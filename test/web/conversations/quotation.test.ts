import { describe, expect, it } from 'vitest'
import { quotationOf, suggestionBlock } from '../../../src/web/conversations/quotation.ts'

describe('a quotation', () => {
  it('marks each line, and leaves room for the answer', () => {
    expect(quotationOf('one\n\ntwo\n')).toBe('> one\n>\n> two\n\n')
  })
})

describe('a suggestion block', () => {
  it('has the line', () => {
    expect(suggestionBlock('  a = 1')).toBe('```suggestion\n  a = 1\n```\n')
  })

  it('has a fence that the line does not end', () => {
    expect(suggestionBlock('````')).toBe('`````suggestion\n````\n`````\n')
  })
})
