/** What the comment of an RPC says. */
export interface RpcComment {
  /** The first paragraph. */
  readonly summary: string
  /** What follows it, without the list of failures. */
  readonly description: string
  /** The list that `Fails with:` introduces, in its order. */
  readonly failures: readonly Failure[]
}

/** One line of the list of failures. */
export interface Failure {
  /** Names of ErrorReason values. */
  readonly reasons: readonly string[]
  /** When they occur: a clause such as `when the name is taken`, without its full stop. */
  readonly condition: string
}

const FAILURES_HEADING = 'Fails with:'

/** `- REASON, when …`, `- ONE or OTHER, when …`, `- ONE, TWO or THREE, when …`. */
const FAILURE = /^([A-Z][A-Z0-9_]+(?:(?:, | or )[A-Z][A-Z0-9_]+)*), (.+?)\.?$/

/**
 * Takes the comment of an RPC apart: summary, description and the list of failures.
 *
 * @throws Error that quotes an item of the list which has another form.
 */
export function parseRpcComment(comment: string): RpcComment {
  const [prose = '', list = ''] = comment.split(`${FAILURES_HEADING}\n`)
  const [summary = '', ...description] = prose.trim().split('\n\n')
  const items = list.trim() === '' ? [] : list.trim().replace(/^- /, '').split('\n- ')
  return {
    summary: unwrap(summary),
    description: description.join('\n\n'),
    failures: items.map((item) => parseFailure(unwrap(item))),
  }
}

function parseFailure(item: string): Failure {
  const [, reasons, condition] = FAILURE.exec(item) ?? []
  if (reasons === undefined || condition === undefined)
    throw new Error(`no failure of an RPC: ${item}`)
  return { reasons: reasons.split(/, | or /), condition }
}

/** Lines of a comment end where the page does, not where a sentence does. */
function unwrap(text: string): string {
  return text.replace(/\n\s*/g, ' ')
}
