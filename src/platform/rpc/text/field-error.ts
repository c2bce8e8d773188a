/**
 * A value in a path, query or body that does not fit its field, which is an error of the client.
 * `field` is the path of the field in the spelling of the client, or empty for the whole value.
 * `reason` says what the field expects. The message contains both.
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
   * Returns the error with the path from the parent of the field: `parent.field`, or
   * `parent[index]` for an element.
   */
  within(parent: string): FieldError {
    const separator = this.field === '' || this.field.startsWith('[') ? '' : '.'
    return new FieldError(parent + separator + this.field, this.reason)
  }
}
