import { describe, expect, it } from 'vitest'
import { parseRpcComment } from '../../../src/edge/openapi/responses.ts'

describe('parseRpcComment', () => {
  it('takes summary, description and failures apart', () => {
    const comment = [
      'Makes',
      'an account.',
      '',
      'The first one',
      'administers.',
      '',
      'Others do not.',
      '',
      'Fails with:',
      '- INVALID_FIELD, when a text',
      '  is too long.',
      '- USERNAME_TAKEN, EMAIL_TAKEN or USER_ID_TAKEN, when another account has it.',
      '- A_ONE or B_TWO, after too many, by far.',
      '- BAD_CREDENTIALS, with INVALID_ARGUMENT, when the provider refuses the code.',
    ].join('\n')
    expect(parseRpcComment(comment)).toEqual({
      summary: 'Makes an account.',
      description: 'The first one\nadministers.\n\nOthers do not.',
      failures: [
        { reasons: ['INVALID_FIELD'], condition: 'when a text is too long' },
        {
          reasons: ['USERNAME_TAKEN', 'EMAIL_TAKEN', 'USER_ID_TAKEN'],
          condition: 'when another account has it',
        },
        { reasons: ['A_ONE', 'B_TWO'], condition: 'after too many, by far' },
        {
          reasons: ['BAD_CREDENTIALS'],
          condition: 'with INVALID_ARGUMENT, when the provider refuses the code',
        },
      ],
    })
  })

  it.each([
    ['nothing at all', '', ''],
    ['a summary only', 'Reads.', 'Reads.'],
  ])('takes %s', (_, comment, summary) => {
    expect(parseRpcComment(comment)).toEqual({ summary, description: '', failures: [] })
  })

  it.each([
    ['a condition is missing', '- NOT_FOUND'],
    ['a reason is no name', '- not found, when it is not there.'],
    ['the list is none', 'NOT_FOUND'],
  ])('refuses a list where %s', (_, list) => {
    expect(() => parseRpcComment(`Reads.\n\nFails with:\n${list}`)).toThrow(list.replace('- ', ''))
  })
})
