/** The parsed comment of an RPC. */
interface RpcComment {
  /** The first paragraph. */
  readonly summary: string
  /** The other paragraphs, without the list of failures. */
  readonly description: string
  /** The list after `Fails with:`, in its order. */
  readonly failures: readonly Failure[]
}

/** One line of the list of failures. */
export interface Failure {
  /** Names of ErrorReason values. */
  readonly reasons: readonly string[]
  /** The condition as a clause without a full stop, for example `when the name is taken`. */
  readonly condition: string
}

const FAILURES_HEADING = 'Fails with:'

/** `- REASON, when …`, `- ONE or OTHER, when …`, `- ONE, TWO or THREE, when …`. */
const FAILURE = /^([A-Z][A-Z0-9_]+(?:(?:, | or )[A-Z][A-Z0-9_]+)*), (.+?)\.?$/

/**
 * Parses the comment of an RPC.
 *
 * @throws Error that quotes a malformed item of the list.
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

/** Joins the lines of a paragraph. */
function unwrap(text: string): string {
  return text.replace(/\n\s*/g, ' ')
}
