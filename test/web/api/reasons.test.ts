import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { frenchReasons } from '../../../src/web/api/french-reasons.ts'
import { germanReasons } from '../../../src/web/api/german-reasons.ts'

const root = new URL('../../../', import.meta.url)

/** Returns the names in braces of a text. */
function namesOf(text: string): readonly string[] {
  return [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name).sort()
}

it('says refusals in other languages with values that the server gives', () => {
  const proto = readFileSync(new URL('proto/branchline/v1/error_reason.proto', root), 'utf8')
  for (const [key, text] of Object.entries(germanReasons)) {
    const reason = key.replace(' @reason', '')
    const [comment = ''] = new RegExp(`(?:^  //.*\n)+(?=  ${reason} = )`, 'm').exec(proto) ?? []
    const given = comment.slice(comment.indexOf('Metadata:'))
    for (const name of namesOf(text).filter((one) => one !== 'message'))
      expect(given, key).toContain(`\`${name}\``)
    expect(namesOf(frenchReasons[key as keyof typeof frenchReasons]), key).toEqual(namesOf(text))
  }
})
