/**
 * A value in a path, query or body that does not fit its field: the client's mistake, never the
 * server's. `field` is the path of the field as far as it is known, in the spelling of the client
 * where there is one, and empty for a fault of the whole value; `reason` says what was expected.
 * The message is both.
 */
export class FieldError extends Error {
  override readonly name = 'FieldError'
  readonly field: string
  readonly reason: string

  constructor(field: string, reason: string) {
    super(field === '' ? reason : `${field}: ${reason}`)
    this.field = field
    this.reason = reason
  }

  /**
   * The same error, seen from the parent of the field: `parent.field`, or `parent[index]` for an
   * element.
   */
  within(parent: string): FieldError {
    const separator = this.field === '' || this.field.startsWith('[') ? '' : '.'
    return new FieldError(parent + separator + this.field, this.reason)
  }
}
