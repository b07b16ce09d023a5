/** Where this browser keeps bundles that were opened from files. */
export const SHELF = 'quorumscope-bundles'
export const shelfKey = (name: string): string => `/bundle/${name}`
