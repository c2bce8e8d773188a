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

/** Every scope, in the order in which scopes are listed. */
const SCOPES: readonly string[] = [
  ALL,
  ...CATEGORIES.flatMap((category) => [`read:${category}`, `write:${category}`]),
  PUBLIC_ONLY,
]

/** What a personal access token may do. Immutable. */
export class Scopes {
  /** Normalised: in one order, without duplicates and without those that another one implies. */
  readonly names: readonly string[]

  private constructor(names: readonly string[]) {
    const given = new Set(names)
    const implied = (name: string) =>
      name !== ALL &&
      name !== PUBLIC_ONLY &&
      (given.has(ALL) || (name.startsWith('read:') && given.has(writing(name))))
    this.names = SCOPES.filter((name) => given.has(name) && !implied(name))
  }

  /**
   * Reads scopes as a client sends them. None at all means `all`, `admin` included: clients of the
   * compatible API know no scopes.
   *
   * @throws INVALID_SCOPE for an unknown scope, and when `public-only`, which grants nothing, is
   *   the only one.
   */
  static parse(names: readonly string[]): Scopes {
    if (names.length === 0) return new Scopes([ALL])
    const unknown = names.find((name) => !SCOPES.includes(name))
    if (unknown !== undefined)
      throw new DomainError('INVALID_SCOPE', { scope: unknown.slice(0, 64) })
    if (names.every((name) => name === PUBLIC_ONLY))
      throw new DomainError('INVALID_SCOPE', { scope: PUBLIC_ONLY })
    return new Scopes(names)
  }

  /** Reads what `text` gave. Scopes that this version does not know grant nothing. */
  static fromText(text: string): Scopes {
    return new Scopes(text.split(' '))
  }

  /** The form that is stored: the names, separated by blanks. */
  get text(): string {
    return this.names.join(' ')
  }

  /** Whether private data is hidden from the token. */
  get publicOnly(): boolean {
    return this.names.includes(PUBLIC_ONLY)
  }

  /**
   * Whether a `read:` or `write:` scope is granted, by name, by the write scope of its category, or
   * by `all`.
   */
  includes(scope: string): boolean {
    return (
      this.names.includes(ALL) || this.names.includes(scope) || this.names.includes(writing(scope))
    )
  }

  /**
   * The first scope that the others do not grant. Whether either is restricted to public data makes
   * no difference.
   */
  firstOutside(others: Scopes): string | undefined {
    return this.names.find((name) => name !== PUBLIC_ONLY && !others.includes(name))
  }

  /** The same scopes, restricted to public data. */
  asPublicOnly(): Scopes {
    return new Scopes([...this.names, PUBLIC_ONLY])
  }
}

function writing(scope: string): string {
  return scope.replace(/^read:/, 'write:')
}
