// The failures of the methods of package branchline.v1, as the options in proto/ declare them.
import { getOption } from '@bufbuild/protobuf'
import { getComments } from '@bufbuild/protoplugin'

/**
 * @typedef {{ name: string, condition: string, status: string, paragraphs: readonly string[] }} Reason
 *   `condition` is the first paragraph of its comment and `paragraphs` are all, `status` its first
 *   status over REST.
 * @typedef {{ reason: Reason, condition: string }} Failure `condition` is empty where the reason
 *   has the condition of its comment.
 */

/**
 * Returns the reasons, those that every method may have, and what returns the failures of a method:
 * the reasons of its option `fails_with`, each after those that it implies.
 *
 * @param {readonly import('@bufbuild/protobuf').AnyDesc[]} types
 */
export function declaredFailures(types) {
  const typeOf = (/** @type {string} */ name) =>
    types.find((type) => type.typeName === `branchline.v1.${name}`)
  const { values, value } = typeOf('ErrorReason')
  const [failsWith, implies, general] = ['fails_with', 'implies', 'general'].map(typeOf)
  const reasons = new Map(values.map((entry) => [entry.number, reasonOf(entry)]))

  /** Adds a reason to the conditions of a method. */
  function add(conditions, number, condition) {
    for (const implied of getOption(value[number], implies))
      if (!conditions.has(implied)) add(conditions, implied, '')
    if (condition || !conditions.has(number)) conditions.set(number, condition)
  }

  return {
    reasons: [...reasons.values()],
    general: values.filter((entry) => getOption(entry, general)).map(({ name }) => name),
    /** @returns {Failure[]} */
    failuresOf(method) {
      const conditions = new Map()
      for (const { reason, condition } of getOption(method, failsWith))
        add(conditions, reason, condition)
      return [...conditions].map(([number, condition]) => ({
        reason: reasons.get(number),
        condition,
      }))
    },
  }
}

/** @returns {Reason} */
function reasonOf(entry) {
  const comment = getComments(entry).leading ?? ''
  const paragraphs = comment.split(/\n\s*\n/).map((text) => text.replace(/\s+/g, ' ').trim())
  const [, status = ''] = /, REST (\d{3})\b/.exec(paragraphs.at(-1)) ?? []
  return { name: entry.name, condition: paragraphs[0], status, paragraphs }
}
