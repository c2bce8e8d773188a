/** Returns names as the API takes them where an absent list changes nothing. */
export function listValue(names: readonly string[]) {
  return {
    values: names.map((value) => ({ kind: { case: 'stringValue' as const, value } })),
  }
}
