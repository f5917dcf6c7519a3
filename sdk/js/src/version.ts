/** The version of this package, as the user agent says it. */
export const version = '0.1.0'
