import { DomainError } from './errors.ts'

const CATEGORIES = [
  'user',
  'notification',
  'memo',
  'repository',
  'issue',
  'organization',
  'package',
  'misc',
  'activitypub',
  'admin',
] as const

const ALL = 'all'
const PUBLIC_ONLY = 'public-only'

/** All scopes, in their canonical order. */
export const SCOPES: readonly string[] = [
  ALL,
  ...CATEGORIES.flatMap((category) => [`read:${category}`, `write:${category}`]),
  PUBLIC_ONLY,
]

/** The immutable set of scopes of a personal access token. */
export class Scopes {
  /** Normalised: in canonical order, without duplicates and without implied scopes. */
  readonly names: readonly string[]

  private constructor(names: readonly string[]) {
    this.names = names
  }

  static #normalise(names: readonly string[]): Scopes {
    const given = new Set(names)
    const implied = (name: string) =>
      name !== ALL &&
      name !== PUBLIC_ONLY &&
      (given.has(ALL) || (name.startsWith('read:') && given.has(writing(name))))
    return new Scopes(SCOPES.filter((name) => given.has(name) && !implied(name)))
  }

  /**
   * Parses scopes sent by a client. An empty list means `all`, including `admin`, because clients
   * of the compatible API do not know scopes.
   *
   * @throws INVALID_SCOPE for an unknown scope, and if `public-only` is the only one, since it
   *   grants nothing.
   */
  static parse(names: readonly string[]): Scopes {
    if (names.length === 0) return new Scopes([ALL])
    const unknown = names.find((name) => !SCOPES.includes(name))
    if (unknown !== undefined)
      throw new DomainError('INVALID_SCOPE', { scope: unknown.slice(0, 64) })
    if (names.every((name) => name === PUBLIC_ONLY))
      throw new DomainError('INVALID_SCOPE', { scope: PUBLIC_ONLY })
    return Scopes.#normalise(names)
  }

  /**
   * Parses the stored form, which is normalised. Scopes that this version does not know grant
   * nothing.
   */
  static fromText(text: string): Scopes {
    return new Scopes(text.split(' ').filter((name) => SCOPES.includes(name)))
  }

  /** The stored form: the names, separated by spaces. */
  get text(): string {
    return this.names.join(' ')
  }

  /** Whether the token has no access to private data. */
  get publicOnly(): boolean {
    return this.names.includes(PUBLIC_ONLY)
  }

  /**
   * Returns whether a `read:` or `write:` scope is granted: directly, by the write scope of its
   * category, or by `all`.
   */
  includes(scope: string): boolean {
    return (
      this.names.includes(ALL) || this.names.includes(scope) || this.names.includes(writing(scope))
    )
  }

  /**
   * Returns the first scope that the others do not grant. `public-only` is ignored on both sides.
   */
  firstOutside(others: Scopes): string | undefined {
    return this.names.find((name) => name !== PUBLIC_ONLY && !others.includes(name))
  }

  /** Returns the same scopes restricted to public data. */
  asPublicOnly(): Scopes {
    return Scopes.#normalise([...this.names, PUBLIC_ONLY])
  }
}

function writing(scope: string): string {
  return scope.replace(/^read:/, 'write:')
}
