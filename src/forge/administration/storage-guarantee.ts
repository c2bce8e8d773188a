/** A property of a file system on which Git or Branchline relies. */
export interface Guarantee {
  readonly name: string
  /**
   * Tests the property in an empty folder of its own. Returns a remark for the operator.
   *
   * @throws Error with the reason why the property is missing.
   */
  test(folder: string): Promise<string | undefined>
}

/** @throws Error with the reason. */
export function expectThat(condition: boolean, reason: string): asserts condition {
  if (!condition) throw new Error(reason)
}
