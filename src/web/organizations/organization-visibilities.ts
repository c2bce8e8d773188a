/** Visibilities of an organisation, with the names of the API. */
export const ORGANIZATION_VISIBILITIES = [
  ['public', 'Public: everybody'],
  ['limited', 'Limited: everybody with an account'],
  ['private', 'Private: members'],
] as const
