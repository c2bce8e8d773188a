import { german as accounts } from '../accounts/german.ts'
import { german as administration } from '../administration/german.ts'
import { german as api } from '../api/german.ts'
import { german as code } from '../code/german.ts'
import { german as components } from '../components/german.ts'
import { german as conversations } from '../conversations/german.ts'
import { german as explorer } from '../explorer/german.ts'
import { german as header } from '../header/german.ts'
import { german as issues } from '../issues/german.ts'
import { german as keyboard } from '../keyboard/german.ts'
import { german as memos } from '../memos/german.ts'
import { german as notifications } from '../notifications/german.ts'
import { german as organizations } from '../organizations/german.ts'
import { german as pulls } from '../pulls/german.ts'
import { german as repositories } from '../repositories/german.ts'
import { german as webhooks } from '../webhooks/german.ts'

/**
 * All texts of the pages in German. The keys are the English texts, so that a text which is missing here
 * does not compile where a page uses it.
 */
export const german = {
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

type German = typeof german

/** The English texts of the pages, which all languages have. */
export type Text = { [Key in keyof German]: German[Key] extends string ? Key : never }[keyof German]

/** The English plurals of the texts about numbers. */
export type PluralText = Exclude<keyof German, Text>
