import { french as accounts } from '../accounts/french.ts'
import { french as administration } from '../administration/french.ts'
import { french as api } from '../api/french.ts'
import { french as code } from '../code/french.ts'
import { french as components } from '../components/french.ts'
import { french as conversations } from '../conversations/french.ts'
import { french as explorer } from '../explorer/french.ts'
import { french as header } from '../header/french.ts'
import { french as issues } from '../issues/french.ts'
import { french as keyboard } from '../keyboard/french.ts'
import { french as memos } from '../memos/french.ts'
import { french as notifications } from '../notifications/french.ts'
import { french as organizations } from '../organizations/french.ts'
import { french as pulls } from '../pulls/french.ts'
import { french as repositories } from '../repositories/french.ts'
import { french as webhooks } from '../webhooks/french.ts'
import type { Catalogue, Forms } from './catalogue.ts'
import type { german } from './german.ts'

type AllTexts = {
  readonly [Key in keyof typeof german]: (typeof german)[Key] extends string ? string : Forms
}

const texts: AllTexts = {
  ...accounts,
  ...administration,
  ...api,
  ...code,
  ...components,
  ...conversations,
  ...explorer,
  ...header,
  ...issues,
  ...keyboard,
  ...memos,
  ...notifications,
  ...organizations,
  ...pulls,
  ...repositories,
  ...webhooks,
}

/** All texts of the pages in French. */
export const french: Catalogue = withHardSpaces(texts)

/**
 * Returns texts in which no line begins with a sign that follows a space in French. The catalogues
 * have ordinary spaces, since nobody sees the difference in a source.
 */
export function withHardSpaces(texts: Catalogue): Catalogue {
  const hard = (text: string) => text.replace(/ (?=[:;!?»])|(?<=«) /g, '\u00a0')
  return Object.fromEntries(
    Object.entries(texts).map(([key, value]) => [
      key,
      typeof value === 'string' ? hard(value) : { one: hard(value.one), other: hard(value.other) },
    ]),
  )
}
