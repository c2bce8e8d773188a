/**
 * The forms of pushes that open pull requests, as AGit-Flow defines them and compatible systems have
 * them: the ref names the base branch, and push options give the rest.
 */

/** What the ref of a proposal asks for. */
export type ProposalForm =
  | {
      readonly kind: 'topic'
      /** A branch, or a branch, a slash and a topic. */
      readonly target: string
      readonly isDraft: boolean
    }
  /** An update of a pull request by its number. */
  | { readonly kind: 'number'; readonly number: number }
  | { readonly kind: 'invalid' }

const FORM = /^refs\/(for|drafts?|for-review)\/(.+)$/s

const NUMBER = /^[1-9]\d{0,14}$/

/** Reads the ref of a proposal. */
export function readProposalForm(ref: string): ProposalForm {
  const [, kind, target = ''] = FORM.exec(ref) ?? []
  if (kind === undefined) return { kind: 'invalid' }
  if (kind !== 'for-review') return { kind: 'topic', target, isDraft: kind !== 'for' }
  return NUMBER.test(target) ? { kind: 'number', number: Number(target) } : { kind: 'invalid' }
}

/** The push options of a proposal. */
export interface ProposalOptions {
  /** Empty if the push gives none, like `title` and `description`. */
  readonly topic: string
  readonly title: string
  readonly description: string
  /** Whether the new head need not contain the former one. */
  readonly isForced: boolean
}

/** Marks values that are encoded, since options have one line. */
const BASE64 = '{base64}'

/** Reads push options. Unknown ones are ignored, and the last of equal ones counts. */
export function readProposalOptions(options: readonly string[]): ProposalOptions {
  const values = new Map(
    options.map((option): [string, string] => {
      const equals = option.indexOf('=')
      return equals < 0 ? [option, 'true'] : [option.slice(0, equals), option.slice(equals + 1)]
    }),
  )
  return {
    topic: values.get('topic') ?? '',
    title: decoded(values.get('title')),
    description: decoded(values.get('description')),
    isForced: values.get('force-push') === 'true',
  }
}

function decoded(value = ''): string {
  if (!value.startsWith(BASE64)) return value
  return Buffer.from(value.slice(BASE64.length), 'base64').toString('utf8')
}

/** Returns a topic without the name of its user, which compatible systems put in front. */
export function plainTopic(topic: string, username: string): string {
  const prefix = `${username}/`
  return topic.toLowerCase().startsWith(prefix.toLowerCase()) ? topic.slice(prefix.length) : topic
}
