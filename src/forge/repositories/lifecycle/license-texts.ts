import texts from 'spdx-license-list/full.js'

/**
 * The licences of the SPDX License List with their texts, by identifier: several megabytes, which
 * are a bundle of their own that is loaded when somebody asks for a licence.
 */
export const LICENSE_TEXTS: Readonly<Record<string, { readonly licenseText: string }>> = texts
